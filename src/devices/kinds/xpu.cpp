// Describes Intel's GPUs.
#include <fmt/format.h>

#include "base/bytes.h"
#include "devices/device_kind.h"

namespace torchport::devices {

namespace {

// The message of c10/xpu/XPUCachingAllocator.cpp.
std::string out_of_memory(const OutOfMemory& failure, int device) {
  return fmt::format(
      "XPU out of memory. Tried to allocate {}. GPU {} has a total capacity of {}. Of the "
      "allocated "
      "memory {} is allocated by PyTorch, and {} is reserved by PyTorch but unallocated. Please "
      "use `empty_cache` to release all unoccupied cached memory.",
      base::format_bytes_as_c10(failure.requested), device,
      base::format_bytes_as_c10(failure.total), base::format_bytes_as_c10(failure.allocated),
      base::format_bytes_as_c10(failure.reserved - failure.allocated));
}

// The message of check_device_index in c10/xpu/XPUFunctions.h.
std::string invalid_device(int device, int count) {
  return fmt::format("The device index is out of range. It must be in [0, {}), but got {}.", count,
                     device);
}

}  // namespace

TORCHPORT_DEVICE_KIND(xpu) {
  return {
      .name = "xpu",
      .backend = "XPU",
      .device_type = 12,
      .preference = 30,
      // Its kernels are not in native_functions.yaml; they are ports of CUDA's.
      .checked_as = "CUDA",
      .libraries = {"libtorch_xpu.so"},
      .out_of_memory = &out_of_memory,
      .invalid_device = &invalid_device,
      .availability = {.expression = "xpu.is_available()", .since_major = 2, .since_minor = 4},
      // The nodes of GPUs of any vendor, and of WSL.
      .host = {.version_member = "xpu",
               .vendor = "intel",
               .device_files = {"/dev/dri/renderD*", "/dev/dxg"}},
  };
}

}  // namespace torchport::devices
