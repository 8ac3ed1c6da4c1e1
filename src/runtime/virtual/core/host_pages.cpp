#include "runtime/virtual/core/host_pages.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>

namespace torchport::vdev {

bool give_pages_back(void* begin, std::size_t bytes) {
  constexpr std::uintptr_t kBytesOfPage = 4096;
  char* const first = static_cast<char*>(begin);
  // Offsets of the whole pages in the memory.
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t before = (kBytesOfPage - address % kBytesOfPage) % kBytesOfPage;
  const std::size_t pages = bytes > before ? (bytes - before) / kBytesOfPage * kBytesOfPage : 0;
  std::memset(first, 0, std::min(before, bytes));
  if (bytes <= before) return true;
  std::memset(first + before + pages, 0, bytes - before - pages);
  return pages == 0 || madvise(first + before, pages, MADV_DONTNEED) == 0;
}

}  // namespace torchport::vdev
