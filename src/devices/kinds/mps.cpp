// Describes Apple's GPUs, which torch uses through Metal Performance Shaders.
#include <fmt/format.h>

#include "base/bytes.h"
#include "devices/device_kind.h"

namespace torchport::devices {

namespace {

// The message of aten/src/ATen/mps/MPSAllocator.mm.
std::string out_of_memory(const OutOfMemory& failure, int /*device*/) {
  return fmt::format(
      "MPS backend out of memory (MPS allocated: {}, other allocations: {}, max allowed: {}). "
      "Tried "
      "to allocate {} on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper "
      "limit for memory allocations (may cause system failure).",
      base::format_bytes_as_c10(failure.allocated), base::format_bytes_as_c10(0),
      base::format_bytes_as_c10(failure.allowed.value_or(failure.total)),
      base::format_bytes_as_c10(failure.requested));
}

std::string invalid_device(int device, int count) {
  return fmt::format("Invalid device index {}: there {} {} mps device{}", device,
                     count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
}

}  // namespace

// The texts of refused types come from aten/src/ATen/mps/EmptyTensor.cpp and
// aten/src/ATen/native/mps/OperationUtils.mm.
TORCHPORT_DEVICE_KIND(mps) {
  return {
      .name = "mps",
      .backend = "MPS",
      .device_type = 13,
      .preference = 20,
      .several = false,
      // MPS has one stream, so its copies and kernels run in order.
      .has_streams = false,
      .checked_as = "MPS",
      .refused_types =
          {{"Double",
            "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support "
            "float64. Please use float32 instead."},
           {"ComplexDouble",
            "Trying to convert ComplexDouble to the MPS backend but it does not have support for "
            "that dtype."}},
      .out_of_memory = &out_of_memory,
      .invalid_device = &invalid_device,
      .availability = {.expression = "backends.mps.is_available()",
                       .since_major = 1,
                       .since_minor = 12,
                       .in_classic_chain = true},
      .host = {.system = "Darwin"},
  };
}

}  // namespace torchport::devices
