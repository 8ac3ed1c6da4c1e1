// Describes Huawei's Ascend cards. torch has no backend for them: the package torch_npu renames
// PrivateUse1.
#include <fmt/format.h>

#include "base/bytes.h"
#include "devices/device_kind.h"

namespace torchport::devices {

namespace {

// The message of torch_npu/csrc/core/npu/NPUCachingAllocator.cpp.
std::string out_of_memory(const OutOfMemory& failure, int device) {
  const std::string allowed =
      failure.allowed ? base::format_bytes_as_c10(*failure.allowed) + " allowed; " : std::string();
  return fmt::format(
      "NPU out of memory. Tried to allocate {} (NPU {}; {} total capacity; {} already allocated; "
      "{} "
      "current active; {} free; {}{} reserved in total by PyTorch) If reserved memory is >> "
      "allocated memory try setting max_split_size_mb to avoid fragmentation.",
      base::format_bytes_as_c10(failure.requested), device,
      base::format_bytes_as_c10(failure.total), base::format_bytes_as_c10(failure.allocated),
      base::format_bytes_as_c10(failure.allocated), base::format_bytes_as_c10(failure.free),
      allowed, base::format_bytes_as_c10(failure.reserved));
}

// The message for an error of aclrtSetDevice; 107001 is ACL_ERROR_RT_INVALID_DEVICEID.
std::string invalid_device(int /*device*/, int /*count*/) {
  return "NPU function error: aclrtSetDevice(device), error code is 107001\n[Error]: Invalid "
         "device "
         "ID.\n        Check whether the device ID is valid.";
}

}  // namespace

TORCHPORT_DEVICE_KIND(npu) {
  return {
      .name = "npu",
      .backend = "PrivateUse1",
      .device_type = 20,
      .preference = 40,
      .visibility_variable = "ASCEND_RT_VISIBLE_DEVICES",
      // Its kernels have checks of their own, which refuse what CUDA's refuse.
      .checked_as = "CUDA",
      .out_of_tree = true,
      .out_of_memory = &out_of_memory,
      .invalid_device = &invalid_device,
      .availability = {.expression = "npu.is_available()", .since_major = 2, .since_minor = 1},
      .host = {.device_files = {"/dev/davinci_manager"}, .known_to_doctor = false},
  };
}

}  // namespace torchport::devices
