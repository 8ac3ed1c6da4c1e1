// Finds work of one stream that uses what another stream does without waiting for it, and shows
// what a GPU may show then (`torchport run --streams late`, TORCHPORT_STREAMS=late).
//
// Work on a virtual device is done when its call returns, so a program that forgets to wait still
// gets the right numbers here, and on a GPU only sometimes. With this option each call notes which
// bytes it reads and writes (runtime/device/access_history.h), and vector clocks tell which of that
// a program has put in order. What is not in order is told once for each pair of source lines, and
// a call that reads a result too early gets NaN instead of it.
//
// It never accuses a program that waits. So it says nothing where it cannot know: inside of CUDA
// graph captures, about streams of other libraries, about what extensions and compiled code do.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "runtime/device/stream_clocks.h"

namespace torchport::vdev {

class Aliases;

// Whether the option is on. Constant after the library is loaded. Thread safe, as are all
// functions here.
[[nodiscard]] bool streams_are_late();

namespace late {

// The state of an event that was recorded; empty if it was not.
struct Event {
  device::Clock clock;
  bool asked = false;
};

// REQUIRED for all of these: streams_are_late().
[[nodiscard]] Event record(c10::DeviceIndex device, std::int64_t stream);
void wait(c10::DeviceIndex device, std::int64_t stream, const Event& event);
void host_waits(const Event& event);
void host_waits(c10::DeviceIndex device, std::int64_t stream);
void host_waits(c10::DeviceIndex device);
// Whether the host knows that an event is over.
[[nodiscard]] bool is_over(const Event& event);
// As cudaEventQuery(). Work that nobody has waited for is not done when it is asked for the first
// time, and then it is.
[[nodiscard]] bool query(Event& event);

void allocated(c10::DeviceIndex device, std::uint64_t address, std::uint64_t bytes);
void freed(std::uint64_t address);
// Memory is not used again before a stream has done what it was asked.
void record_stream(c10::DeviceIndex device, std::int64_t stream, std::uint64_t address);

// A kernel writes all of a tensor on the calling thread's stream.
void wrote(const at::Tensor& tensor);

// The accesses of one call of an operator.
class Call {
 public:
  void reads(const at::Tensor& tensor);
  void writes(const at::Tensor& tensor);
  // Notes all accesses, and tells of those that are not in order. The streams of several devices
  // wait for each other, as in PyTorch's copies between devices.
  void start();
  // Lets the kernel read NaN where it would read a result that is not there yet.
  void hide(Aliases& aliases) const;
  // The host waits for this call.
  void host_waits() const;

 private:
  struct Use {
    at::Tensor tensor;
    bool writes = false;
    bool too_early = false;
  };
  std::vector<Use> uses_;
};

// What was told, in order.
[[nodiscard]] std::vector<std::string> told();

}  // namespace late

}  // namespace torchport::vdev
