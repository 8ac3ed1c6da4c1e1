// The virtual devices for CUDA's runtime: one current device, one account of memory, one state of
// errors (runtime/device/cuda_devices.h).
#include "runtime/device/cuda_devices.h"

#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/core/tensor_bytes.h"
#include "runtime/virtual/errors/lost_by_kernels.h"
#include "runtime/virtual/without_data/launches.h"

namespace torchport::vdev {

namespace {

constexpr int kIllegalAddress = 700;

c10::DeviceIndex index_of(int device) {
  return static_cast<c10::DeviceIndex>(device);
}

std::uint64_t take(int device, std::size_t bytes) {
  return Runtime::get().memory(index_of(device)).allocate_unmanaged(bytes).value_or(0);
}

void give(int device, std::uint64_t taken) {
  Runtime::get().memory(index_of(device)).free(taken);
}

void memory(int device, std::size_t* left, std::size_t* total) {
  const device::MemoryModel& of_device = Runtime::get().memory(index_of(device));
  *left = of_device.device_free();
  *total = of_device.total();
}

void set_current(int device) {
  set_current_device(index_of(device));
}

void failed(int device, int error, const char* kernel) {
  lose_by_kernel(index_of(device), kernel, error == kIllegalAddress);
}

}  // namespace

}  // namespace torchport::vdev

const torchport::cuda::Devices* torchport_virtual_devices() {
  using namespace torchport::vdev;
  static const torchport::cuda::Devices kDevices{
      .count = [] { return static_cast<int>(shown_devices()); },
      .current = [] { return static_cast<int>(current_device()); },
      .set_current = &set_current,
      .take = &take,
      .give = &give,
      .memory = &memory,
      .failed = &failed,
      .find_bytes = &find_bytes,
      .describe_bytes = &describe_bytes,
      .captures = &is_capturing_graph,
      .without_data = launches_without_data()};
  return Runtime::get().kind().type == c10::DeviceType::CUDA && Runtime::get().has_devices()
             ? &kDevices
             : nullptr;
}
