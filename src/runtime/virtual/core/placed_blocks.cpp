#include "runtime/virtual/core/placed_blocks.h"

#include <iterator>
#include <map>
#include <mutex>

#include "runtime/virtual/core/phantom.h"

namespace torchport::vdev {

namespace {

struct PlacedBlocks {
  std::mutex mutex;
  std::multimap<const char*, StorageBlock*> all;
};

PlacedBlocks& placed_blocks() {
  static auto* one = new PlacedBlocks();
  return *one;
}

bool is_placed(const StorageBlock& block) {
  return is_without_data() && block.data != nullptr && block.bytes != 0;
}

}  // namespace

void place_block(StorageBlock& block) {
  if (!is_placed(block)) return;
  PlacedBlocks& placed = placed_blocks();
  const std::scoped_lock lock(placed.mutex);
  placed.all.emplace(static_cast<const char*>(block.data), &block);
}

void unplace_block(StorageBlock& block) {
  if (!is_placed(block)) return;
  PlacedBlocks& placed = placed_blocks();
  const std::scoped_lock lock(placed.mutex);
  auto [at, end] = placed.all.equal_range(static_cast<const char*>(block.data));
  for (; at != end; ++at) {
    if (at->second != &block) continue;
    placed.all.erase(at);
    return;
  }
}

bool with_blocks_at(const void* address, const std::function<void(StorageBlock&)>& use) {
  if (!is_without_data()) return false;
  const auto* at = static_cast<const char*>(address);
  PlacedBlocks& placed = placed_blocks();
  const std::scoped_lock lock(placed.mutex);
  const auto after = placed.all.upper_bound(at);
  if (after == placed.all.begin()) return false;
  auto [first, end] = placed.all.equal_range(std::prev(after)->first);
  bool found = false;
  for (; first != end; ++first) {
    if (at >= first->first + first->second->bytes) continue;
    found = true;
    use(*first->second);
  }
  return found;
}

}  // namespace torchport::vdev
