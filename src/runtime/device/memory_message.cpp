// What the allocators say when there is no more memory.
#include <fmt/format.h>

#include "runtime/device/memory_model.h"

namespace torchport::device {

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes <= 1024) return fmt::format("{} bytes", bytes);
  if (bytes <= kMiB) return fmt::format("{:.2f} KiB", value / 1024);
  if (bytes <= 1024 * kMiB) return fmt::format("{:.2f} MiB", value / 1048576);
  return fmt::format("{:.2f} GiB", value / 1073741824);
}

namespace {

// c10/xpu/XPUCachingAllocator.cpp
std::string xpu_message(const OutOfMemory& failure, int device) {
  return fmt::format(
      "XPU out of memory. Tried to allocate {}. GPU {} has a total capacity of {}. Of the "
      "allocated "
      "memory {} is allocated by PyTorch, and {} is reserved by PyTorch but unallocated. Please "
      "use `empty_cache` to release all unoccupied cached memory.",
      format_bytes(failure.requested), device, format_bytes(failure.total),
      format_bytes(failure.allocated), format_bytes(failure.reserved - failure.allocated));
}

// aten/src/ATen/mps/MPSAllocator.mm
std::string mps_message(const OutOfMemory& failure) {
  return fmt::format(
      "MPS backend out of memory (MPS allocated: {}, other allocations: {}, max allowed: {}). "
      "Tried "
      "to allocate {} on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper "
      "limit for memory allocations (may cause system failure).",
      format_bytes(failure.allocated), format_bytes(0),
      format_bytes(failure.allowed.value_or(failure.total)), format_bytes(failure.requested));
}

}  // namespace

std::string message_of(const OutOfMemory& failure, std::string_view kind, int device) {
  if (kind == "xpu") return xpu_message(failure, device);
  if (kind == "mps") return mps_message(failure);
  const std::string allowed =
      failure.allowed ? format_bytes(*failure.allowed) + " allowed; " : std::string();
  return fmt::format(
      "CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {} of which {} is "
      "free. Including non-PyTorch memory, this process has {} memory in use. {}Of the allocated "
      "memory {} is allocated by PyTorch, and {} is reserved by PyTorch "
      "but unallocated. If reserved but unallocated memory is large try setting "
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation "
      "for "
      "Memory Management  "
      "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-"
      "cuda-alloc-conf)",
      format_bytes(failure.requested), device, format_bytes(failure.total),
      format_bytes(failure.free), format_bytes(failure.total - failure.free), allowed,
      format_bytes(failure.allocated), format_bytes(failure.reserved - failure.allocated));
}

}  // namespace torchport::device
