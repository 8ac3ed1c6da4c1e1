// Describes NVIDIA's GPUs. AMD's are also called "cuda" in torch; the figures here are NVIDIA's.
#include <fmt/format.h>

#include "base/bytes.h"
#include "devices/cuda_errors.h"
#include "devices/device_kind.h"

namespace torchport::devices {

std::string cuda_error_text(std::string_view text, std::string_view help, std::string_view name,
                            bool at_once) {
  // c10/cuda/CUDAException.cpp has advice of its own for some errors, and a search for the others.
  const std::string advice = help.empty() ? fmt::format(
                                                "Search for `{}' in "
                                                "https://docs.nvidia.com/cuda/cuda-runtime-api/"
                                                "group__CUDART__TYPES.html for more information.",
                                                name)
                                          : std::string(help);
  return fmt::format(
      "CUDA error: {}\n{}{}\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
      text, advice,
      at_once ? ""
              : "\nCUDA kernel errors might be asynchronously reported at some other API call, so "
                "the stacktrace below might be incorrect.\nFor debugging consider passing "
                "CUDA_LAUNCH_BLOCKING=1");
}

namespace {

// The message of c10/cuda/CUDACachingAllocator.cpp.
std::string out_of_memory(const OutOfMemory& failure, int device) {
  const std::string allowed =
      failure.allowed ? base::format_bytes_as_c10(*failure.allowed) + " allowed; " : std::string();
  const std::string in_pools =
      failure.in_private_pools > 0
          ? fmt::format("with {} allocated in private pools (e.g., CUDA Graphs), ",
                        base::format_bytes_as_c10(failure.in_private_pools))
          : std::string();
  return fmt::format(
      "CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {} of which {} is "
      "free. Including non-PyTorch memory, this process has {} memory in use. {}Of the allocated "
      "memory {} is allocated by PyTorch, {}and {} is reserved by PyTorch "
      "but unallocated. If reserved but unallocated memory is large try setting "
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation "
      "for "
      "Memory Management  "
      "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-"
      "cuda-alloc-conf)",
      base::format_bytes_as_c10(failure.requested), device,
      base::format_bytes_as_c10(failure.total), base::format_bytes_as_c10(failure.free),
      base::format_bytes_as_c10(failure.total - failure.free), allowed,
      base::format_bytes_as_c10(failure.allocated + failure.in_private_pools), in_pools,
      base::format_bytes_as_c10(failure.reserved - failure.allocated - failure.in_private_pools));
}

std::string invalid_device(int /*device*/, int /*count*/) {
  return cuda_error_text("invalid device ordinal",
                         "GPU device may be out of range, do you have enough GPUs?",
                         "cudaErrorInvalidDevice", false);
}

std::string failed_assertion(bool at_once) {
  return cuda_error_text("device-side assert triggered", "", "cudaErrorAssert", at_once);
}

}  // namespace

TORCHPORT_DEVICE_KIND(cuda) {
  return {
      .name = "cuda",
      .backend = "CUDA",
      .device_type = 1,
      .preference = 10,
      .visibility_variable = "CUDA_VISIBLE_DEVICES",
      .rocm_visibility_variables = {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"},
      .checked_as = "CUDA",
      // AMD's builds have the second.
      .libraries = {"libtorch_cuda.so", "libtorch_hip.so"},
      .out_of_memory = &out_of_memory,
      .invalid_device = &invalid_device,
      .invalid_device_code = 101,
      .failed_assertion = &failed_assertion,
      .failed_assertion_code = 710,
      .launch_blocking_variable = "CUDA_LAUNCH_BLOCKING",
      .availability = {.expression = "cuda.is_available()", .in_classic_chain = true},
      // Of NVIDIA's driver, of WSL, and of AMD's driver.
      .host = {.version_member = "cuda",
               .vendor = "nvidia",
               .device_files = {"/dev/nvidiactl", "/dev/dxg", "/dev/kfd"}},
  };
}

}  // namespace torchport::devices
