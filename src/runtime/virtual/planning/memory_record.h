// Records who holds the memory of the devices at each moment, for `torchport plan`.
//
// Each block is noted with the line of the program that took it, the module whose forward pass ran,
// and whether the forward pass, the backward pass or an optimizer's step was under way. Which
// blocks hold parameters, gradients and the states of optimizers says python/torchport/virtual/
// planning.py, which knows the objects. memory_log.h keeps the order.
#pragma once

#include <atomic>
#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace torchport::vdev {

namespace detail {
extern std::atomic<bool> memory_is_recorded;
}

[[nodiscard]] inline bool records_memory() {
  return detail::memory_is_recorded.load(std::memory_order_relaxed);
}

// A block was taken: its `bytes` as the allocator counts them, and what the allocator has of the
// device with it. Thread safe, as all functions here.
void record_taken(c10::DeviceIndex device, std::uint64_t address, std::uint64_t bytes,
                  std::uint64_t reserved);
void record_given_back(c10::DeviceIndex device, std::uint64_t address);
// There was no room for so many bytes.
void record_out_of_memory(c10::DeviceIndex device, std::uint64_t bytes);
// A collective reads or writes the tensor. Its block is called communication if it is not known to
// hold parameters, gradients, states of an optimizer, or what the forward pass keeps.
void record_communication(const at::Tensor& tensor);

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
