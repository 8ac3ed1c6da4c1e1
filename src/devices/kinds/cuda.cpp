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

// The profiles come from NVIDIA's data sheets and, for figures that only the driver tells
// (total_memory below the nominal size, shared memory), from what get_device_properties() prints on
// such devices.
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
      .profiles =
          {
              {"a100-80g", "NVIDIA A100-SXM4-80GB", 81'152 * kMiB, 8, 0, 108, 40 * kMiB, 2048,
               65536, 48 * kKiB, 163 * kKiB, 164 * kKiB, 1'410'000, 1'593'000, 5120},
              {"a100-40g", "NVIDIA A100-SXM4-40GB", 40'369 * kMiB, 8, 0, 108, 40 * kMiB, 2048,
               65536, 48 * kKiB, 163 * kKiB, 164 * kKiB, 1'410'000, 1'215'000, 5120},
              {"h100-80g", "NVIDIA H100 80GB HBM3", 81'079 * kMiB, 9, 0, 132, 50 * kMiB, 2048,
               65536, 48 * kKiB, 227 * kKiB, 228 * kKiB, 1'980'000, 2'619'000, 5120},
              {"h200", "NVIDIA H200", 146'591'680 * kKiB, 9, 0, 132, 60 * kMiB, 2048, 65536,
               48 * kKiB, 227 * kKiB, 228 * kKiB, 1'980'000, 3'201'000, 6016},
              // Of CUDA's runtime on such a device, as pytorch/ao#4002 has it.
              {"b200", "NVIDIA B200", 182'631 * kMiB, 10, 0, 148, 129'536 * kKiB, 2048, 65536,
               48 * kKiB, 227 * kKiB, 228 * kKiB, 1'965'000, 3'996'000, 7680},
              {"v100-16g", "Tesla V100-SXM2-16GB", 16'151 * kMiB, 7, 0, 80, 6 * kMiB, 2048, 65536,
               48 * kKiB, 96 * kKiB, 96 * kKiB, 1'530'000, 877'000, 4096},
              {"v100-32g", "Tesla V100-SXM2-32GB", 32'501 * kMiB, 7, 0, 80, 6 * kMiB, 2048, 65536,
               48 * kKiB, 96 * kKiB, 96 * kKiB, 1'530'000, 877'000, 4096},
              {"t4", "Tesla T4", 14'914 * kMiB, 7, 5, 40, 4 * kMiB, 1024, 65536, 48 * kKiB,
               64 * kKiB, 64 * kKiB, 1'590'000, 5'001'000, 256},
              {"l4", "NVIDIA L4", 22'491 * kMiB, 8, 9, 58, 48 * kMiB, 1536, 65536, 48 * kKiB,
               99 * kKiB, 100 * kKiB, 2'040'000, 6'251'000, 192},
              {"rtx-3090", "NVIDIA GeForce RTX 3090", 24'253 * kMiB, 8, 6, 82, 6 * kMiB, 1536,
               65536, 48 * kKiB, 99 * kKiB, 100 * kKiB, 1'695'000, 9'751'000, 384},
              {"rtx-4090", "NVIDIA GeForce RTX 4090", 24'082 * kMiB, 8, 9, 128, 72 * kMiB, 1536,
               65536, 48 * kKiB, 99 * kKiB, 100 * kKiB, 2'520'000, 10'501'000, 384},
          },
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
