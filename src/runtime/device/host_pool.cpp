#include "runtime/device/host_pool.h"

#include <algorithm>

#include <sys/mman.h>
#include <unistd.h>

namespace torchport::device {

namespace {

constexpr std::size_t kHugePages = std::size_t{4} << 20U;

std::size_t whole_pages(std::size_t bytes) {
  static const auto kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

void* HostPool::allocate(std::size_t bytes) {
  const std::size_t size = whole_pages(bytes);
  if (size < bytes) return nullptr;  // past the end of all addresses
  const std::lock_guard<std::mutex> lock(mutex_);
  if (void* address = take_kept(size)) return address;
  make_room(size);
  // Not accounted as committed: a device may have more memory than the host, and a program may
  // touch little of what it allocates. Accounted mappings that lie side by side become one in the
  // kernel, and fork() fails (ENOMEM) once that one is larger than the host's memory.
  void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return nullptr;
#ifdef MADV_HUGEPAGE
  // One fault for two megabytes instead of 512; a wish, which some systems do not grant.
  if (size >= kHugePages) madvise(address, size, MADV_HUGEPAGE);
#endif
  count_used(address, size);
  return address;
}

bool HostPool::free(void* address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto used = used_.find(address);
  if (used == used_.end()) return false;
  const std::size_t size = used->second;
  used_.erase(used);
  stats_.used -= size;
  stats_.kept += size;
  ++clock_;
  by_size_.emplace(std::pair(size, clock_), address);
  by_age_.emplace(clock_, size);
  return true;
}

void HostPool::release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!by_age_.empty()) unmap_oldest();
}

HostPool::Stats HostPool::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

// The smallest kept block that has the room and wastes at most an eighth of it.
void* HostPool::take_kept(std::size_t bytes) {
  const auto found = by_size_.lower_bound({bytes, 0});
  if (found == by_size_.end()) return nullptr;
  const auto [size, age] = found->first;
  if (size - bytes > bytes / 8) return nullptr;
  void* address = found->second;
  by_age_.erase(age);
  by_size_.erase(found);
  stats_.kept -= size;
  count_used(address, size);
  return address;
}

void HostPool::make_room(std::size_t bytes) {
  const std::size_t most = std::max(stats_.peak_used, stats_.used + bytes);
  while (!by_age_.empty() && stats_.used + stats_.kept + bytes > most) unmap_oldest();
}

void HostPool::unmap_oldest() {
  const auto [age, size] = *by_age_.begin();
  const auto block = by_size_.find({size, age});
  munmap(block->second, size);
  stats_.kept -= size;
  by_size_.erase(block);
  by_age_.erase(by_age_.begin());
}

void HostPool::count_used(void* address, std::size_t bytes) {
  used_.emplace(address, bytes);
  stats_.used += bytes;
  stats_.peak_used = std::max(stats_.peak_used, stats_.used);
}

}  // namespace torchport::device
