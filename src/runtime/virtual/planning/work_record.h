// Estimates how long a step takes on the device of the profile, for `torchport plan`.
//
// Each operator on a device costs the larger of two times: its arithmetic at the device's peak rate
// for its type, and the bytes of its arguments and results at the bandwidth of the memory (the
// roofline model: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual
// performance model for multicore architectures", CACM 52(4), 2009). No kernel reaches the peaks,
// and the host needs time to start each, so that a step is told as an interval.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include "runtime/virtual/planning/operator_work.h"

namespace torchport::vdev {

namespace detail {
extern std::atomic<bool> work_is_recorded;
}

[[nodiscard]] inline bool records_work() {
  return detail::work_is_recorded.load(std::memory_order_relaxed);
}

// The bytes of the dense tensors of virtual devices in an argument or a result.
[[nodiscard]] std::uint64_t device_bytes(const c10::IValue& value);

// An operator ran on `device`, with these arguments and results. `arithmetic` is arithmetic_of()
// it. Thread safe, as all functions here.
void record_work(ArithmeticOf arithmetic, c10::DeviceIndex device,
                 const std::vector<c10::IValue>& arguments, c10::ArrayRef<c10::IValue> results);

// copy_(to, from, non_blocking) ran on `device`. Between the host and a device it takes the link
// between them; the host waits for it unless it is asked not to and its memory is pinned.
void record_copy(c10::DeviceIndex device, const std::vector<c10::IValue>& arguments);

// A kernel that a compiler generated ran on the device of its arguments: it reads and writes them
// once. Nothing happens if none of them is on a device.
void record_compiled(at::TensorList arguments);

// A kernel of the program ran on `device` that was given so many bytes, or would have.
void record_kernel(c10::DeviceIndex device, std::uint64_t bytes);

// CUDA's runtime copied bytes between the host and `device`.
void record_host_copy(c10::DeviceIndex device, std::uint64_t bytes, bool from_host, bool pinned,
                      bool host_waits);

// A collective of `ranks` ranks moved `bytes`, the larger of its inputs and its outputs.
void record_collective(const std::string& name, c10::DeviceIndex device, std::uint64_t bytes,
                       int ranks);

}  // namespace torchport::vdev
