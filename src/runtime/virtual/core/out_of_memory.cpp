#include "runtime/virtual/core/out_of_memory.h"

#include <mutex>
#include <string>
#include <vector>

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/library.h>

#include "base/bytes.h"
#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

// Takes the device, the bytes that were asked for, those that the process may have, and those that
// the device has free. A function of Python's ctypes, which takes Python's lock.
using Observer = void (*)(std::int64_t device, std::int64_t asked, std::int64_t allowed,
                          std::int64_t free);

struct Observers {
  std::mutex mutex;
  std::vector<Observer> all;
};

Observers& observers() {
  static auto* observers = new Observers();
  return *observers;
}

void observe_out_of_memory(std::int64_t address) {
  const std::lock_guard lock(observers().mutex);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python passes a function as a number.
  observers().all.push_back(reinterpret_cast<Observer>(address));
}

// As mallocAsync() of c10/cuda/CUDAMallocAsyncAllocator.cpp says it.
std::string text_of_drivers_pool(const devices::OutOfMemory& failure, c10::DeviceIndex device) {
  return fmt::format(
      "Allocation on device {} would exceed allowed memory. (out of memory)\n"
      "Currently allocated     : {}\nRequested               : {}\n"
      "Device limit            : {}\nFree (according to CUDA): {}\n"
      "PyTorch limit (set by user-supplied memory fraction)\n                        : {}",
      static_cast<int>(device), base::format_bytes_as_c10(failure.allocated),
      base::format_bytes_as_c10(failure.requested), base::format_bytes_as_c10(failure.total),
      base::format_bytes_as_c10(failure.free),
      base::format_bytes_as_c10(failure.allowed.value_or(failure.total)));
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("observe_out_of_memory(int address) -> ()", &observe_out_of_memory);
}

}  // namespace

// DeviceCachingAllocator's caller in c10/cuda/CUDACachingAllocator.cpp: one_exa_bytes.
void check_possible(std::uint64_t bytes) {
  constexpr std::uint64_t kExaBytes = std::uint64_t{1} << 60U;
  if (bytes < kExaBytes || Runtime::get().kind().type != c10::DeviceType::CUDA) return;
  TORCH_CHECK_WITH(OutOfMemoryError, false,
                   "CUDA out of memory. Tried to allocate more than 1EB memory.");
}

void raise_out_of_memory(const devices::OutOfMemory& failure, c10::DeviceIndex device) {
  std::vector<Observer> told;
  {
    const std::lock_guard lock(observers().mutex);
    told = observers().all;
  }
  const auto number = [](std::uint64_t bytes) { return static_cast<std::int64_t>(bytes); };
  for (const Observer observer : told) {
    observer(device, number(failure.requested), number(failure.allowed.value_or(failure.total)),
             number(failure.free));
  }
  TORCH_CHECK_WITH(OutOfMemoryError, false,
                   Runtime::get().memory(device).uses_drivers_pool()
                       ? text_of_drivers_pool(failure, device)
                       : Runtime::get().description().out_of_memory(failure, device));
}

}  // namespace torchport::vdev
