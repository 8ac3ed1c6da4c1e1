// Records who holds the memory of the devices at each moment, for `torchport plan`.
//
// Each block is noted with the line of the program that took it, the module whose forward pass ran,
// and whether the forward pass, the backward pass or an optimizer's step was under way. Which
// blocks hold parameters, gradients and the states of optimizers says python/torchport/virtual/
// planning.py, which knows the objects. At the end of the program the record is played again up to
// the moment at which a device held most.
#pragma once

#include <atomic>
#include <cstdint>

#include <c10/core/Device.h>

namespace torchport::vdev {

namespace detail {
extern std::atomic<bool> memory_is_recorded;
}

[[nodiscard]] inline bool records_memory() {
  return detail::memory_is_recorded.load(std::memory_order_relaxed);
}

// A block was taken: `bytes` as the allocator rounds them. Thread safe, as all functions here.
void record_taken(c10::DeviceIndex device, std::uint64_t address, std::uint64_t bytes);
void record_given_back(c10::DeviceIndex device, std::uint64_t address);
// There was no room for so many bytes.
void record_out_of_memory(c10::DeviceIndex device, std::uint64_t bytes);

// While this object lives, what this thread takes are workspaces of the device's libraries.
class [[nodiscard]] TakesWorkspace {
 public:
  TakesWorkspace();
  ~TakesWorkspace();
  TakesWorkspace(const TakesWorkspace&) = delete;
  TakesWorkspace& operator=(const TakesWorkspace&) = delete;
  TakesWorkspace(TakesWorkspace&&) = delete;
  TakesWorkspace& operator=(TakesWorkspace&&) = delete;

 private:
  bool before_;
};

}  // namespace torchport::vdev
