// The memory model of PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync: the driver's default pool.
//
// What PyTorch does around it follows c10/cuda/CUDAMallocAsyncAllocator.cpp. How the driver lays
// memory out is not published: here its pool grows in pieces of 32 MiB, and memory in it is never
// fragmented.
#include <algorithm>

#include "runtime/device/memory_blocks.h"

namespace torchport::device {

namespace {

constexpr std::uint64_t kUnit = 512;                  // sizes are rounded to it
constexpr std::uint64_t kPiece = 32 * devices::kMiB;  // by which the pool grows

std::uint64_t in_units(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

void change(Stat& stat, std::int64_t amount) {
  stat.current += amount;
  stat.peak = std::max(stat.peak, stat.current);
}

// Statistics that the driver has: of all memory, without sums.
void change_used(MemoryStats& stats, std::int64_t amount) {
  for (PoolStat* stat : {&stats.allocated_bytes, &stats.active_bytes})
    change(stat->of[PoolStat::kAll], amount);
}

}  // namespace

void MemoryModel::use_drivers_pool() {
  drivers_pool_ = true;
}

std::optional<std::uint64_t> MemoryModel::allocate_in_drivers_pool(std::uint64_t bytes,
                                                                   OutOfMemory& failure) {
  const std::uint64_t size = in_units(bytes, kUnit);
  const auto used = static_cast<std::uint64_t>(stats_.allocated_bytes.of[PoolStat::kAll].current);
  // The last piece may be cut short by the end of the device.
  const std::uint64_t free = total_ - unmanaged_;
  const std::uint64_t grown = std::min(in_units(used + size, kPiece), std::max(free, used));
  if (drivers_requested_ + bytes > allowed() || used + size > free) {
    failure = {bytes, total_, free - reserved_, drivers_requested_, reserved_, allowed(), 0};
    return std::nullopt;
  }
  if (grown > reserved_) {
    change(stats_.reserved_bytes.of[PoolStat::kAll], signed_of(grown - reserved_));
    set_reserved(grown);
  }
  const std::uint64_t address = next_address_;
  next_address_ += size;
  drivers_sizes_.emplace(address, bytes);
  drivers_requested_ += bytes;
  change_used(stats_, signed_of(size));
  return address;
}

bool MemoryModel::free_in_drivers_pool(std::uint64_t address) {
  const auto found = drivers_sizes_.extract(address);
  if (found.empty()) return false;
  drivers_requested_ -= found.mapped();
  change_used(stats_, -signed_of(in_units(found.mapped(), kUnit)));
  return true;
}

void MemoryModel::trim_drivers_pool() {
  const auto used = static_cast<std::uint64_t>(stats_.allocated_bytes.of[PoolStat::kAll].current);
  const std::uint64_t kept = std::min(in_units(used, kPiece), reserved_);
  change(stats_.reserved_bytes.of[PoolStat::kAll], signed_of(kept) - signed_of(reserved_));
  set_reserved(kept);
}

}  // namespace torchport::device
