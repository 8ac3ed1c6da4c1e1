// Reports what a kernel found wrong in the time of a real device: not at the call that started the
// kernel, but at the next call that waits for the device, and at every call after it.
//
// A kernel of CUDA that is given an index out of range fails an assertion, which prints its lines
// and stops the device. The host does not know until it waits. The first call that then fails
// raises c10::AcceleratorError, and the device cannot be used again in that process (CUDA runtime
// API, cudaErrorAssert). The host's own errors (shapes, types, devices) are raised at once on a
// real device, too, and are not reported here.
//
// TORCHPORT_ERRORS=device asks for it, and `torchport run` sets this. Without it the CPU's kernel
// raises its own exception at the call, which says more.
//
// On a real device a call that only starts a kernel raises or succeeds, depending on how far the
// device is. Here it succeeds until a call has waited, so that each run of a program ends the same.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/Device.h>

namespace torchport::vdev {

// A thread of a grid: the indices of its block, and its own.
struct GridThread {
  std::array<std::uint32_t, 3> block{};
  std::array<std::uint32_t, 3> thread{};
};

// An assertion of a kernel that failed.
struct FailedAssertion {
  const char* file = "";              // below aten/src/ATen/native/cuda, or a whole path
  int line = 0;                       // in it; 0 if it is not known, then none is printed
  const char* kernel = "";            // the name of its function, as the compiler gives it
  std::string condition{};            // the text of the assertion
  std::vector<GridThread> threads{};  // that failed; at most kThreadsShown
  std::string message{};              // what the kernel prints besides, in words
  std::string reason{};               // what was wrong, in words, for the line that torchport adds
};

constexpr std::size_t kThreadsShown = 256;

// Whether errors of kernels are reported late in this process. Constant. Thread safe.
[[nodiscard]] bool errors_are_late();

// Whether each call waits for its kernel in this process (CUDA_LAUNCH_BLOCKING=1). Constant. Thread
// safe.
[[nodiscard]] bool each_call_waits();

// Prints the lines of an assertion that failed on a device, and one that says where. From then on
// the device is lost. Raises c10::AcceleratorError at once if each call waits for its kernel
// (CUDA_LAUNCH_BLOCKING=1). `op` is the operator. Thread safe.
void fail(c10::DeviceIndex device, const std::string& op, const FailedAssertion& assertion);

// Raises c10::AcceleratorError for a kernel that reads or writes where a device has no memory, as
// if each call waited for its kernel. The device is lost if errors are reported late. REQUIRED: the
// kind of device has such errors (DeviceKind::failed_assertion). Thread safe.
[[noreturn]] void raise_illegal_access(c10::DeviceIndex device, const std::string& op,
                                       const std::string& reason);

// What a call asks of a device that may be lost.
enum class Asks : std::uint8_t {
  kToStart,  // starts a kernel: raises once a call has raised
  kToWait,   // waits for the device, or asks its driver: raises
};

namespace detail {
extern std::atomic<bool> any_failed;
void raise_if_lost(c10::DeviceIndex device, Asks asks);
}  // namespace detail

// Whether an assertion has failed on any device. Thread safe.
[[nodiscard]] inline bool any_device_failed() {
  return detail::any_failed.load(std::memory_order_relaxed);
}

// Raises c10::AcceleratorError if a device is lost and what is asked of it tells so. -1 is the
// calling thread's current device. Thread safe.
inline void check_device(c10::DeviceIndex device, Asks asks) {
  if (any_device_failed()) detail::raise_if_lost(device, asks);
}

// What fail() said of each assertion, in order. Thread safe.
[[nodiscard]] std::vector<std::string> failures();

}  // namespace torchport::vdev
