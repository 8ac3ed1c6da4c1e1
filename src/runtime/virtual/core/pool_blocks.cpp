#include "runtime/virtual/core/pool_blocks.h"

#include <algorithm>
#include <utility>

#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

PoolBlocks& PoolBlocks::get() {
  static auto* blocks = new PoolBlocks();
  return *blocks;
}

void PoolBlocks::note_twin(const c10::intrusive_ptr<c10::StorageImpl>& twin, const void* data) {
  if (twins_.size() >= twins_to_sweep_at_) {
    std::erase_if(twins_, [](const auto& one) { return one.second.expired(); });
    twins_to_sweep_at_ = std::max<std::size_t>(1024, 2 * twins_.size());
  }
  twins_.insert_or_assign(data, c10::weak_intrusive_ptr<c10::StorageImpl>(twin));
}

void PoolBlocks::add(StorageBlock& block) {
  const std::lock_guard lock(mutex_);
  note_twin(block.twin, block.data);
  Listed listed{{block.device, block.address, block.bytes, block.data, {}, &block},
                c10::weak_intrusive_ptr<c10::StorageImpl>(block.twin)};
  blocks_.insert_or_assign({block.device, block.address}, std::move(listed));
}

void PoolBlocks::add_without_owner(const Entry& entry) {
  const std::lock_guard lock(mutex_);
  note_twin(entry.twin, entry.data);
  Listed listed{entry, c10::weak_intrusive_ptr<c10::StorageImpl>(entry.twin)};
  listed.entry.owner = nullptr;
  blocks_.insert_or_assign({entry.device, entry.address}, std::move(listed));
}

void PoolBlocks::remove(c10::DeviceIndex device, std::uint64_t address) {
  c10::intrusive_ptr<c10::StorageImpl> last;  // is let go without the lock
  const std::lock_guard lock(mutex_);
  auto node = blocks_.extract({device, address});
  if (!node.empty()) last = std::move(node.mapped().entry.twin);
}

PoolBlocks::Entry PoolBlocks::complete(const Listed& listed) {
  Entry entry = listed.entry;
  if (!entry.twin) entry.twin = listed.twin.lock();
  return entry;
}

std::optional<PoolBlocks::Entry> PoolBlocks::at(c10::DeviceIndex device,
                                                std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find({device, address});
  if (found == blocks_.end()) return std::nullopt;
  return complete(found->second);
}

std::optional<PoolBlocks::Entry> PoolBlocks::at_data(const void* data) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const auto& one) { return one.second.entry.data == data; });
  if (found == blocks_.end()) return std::nullopt;
  return complete(found->second);
}

c10::intrusive_ptr<c10::StorageImpl> PoolBlocks::twin_at(const void* data) const {
  const std::lock_guard lock(mutex_);
  const auto found = twins_.find(data);
  if (found == twins_.end()) return {};
  auto twin = found->second.lock();
  // The bytes may have moved since, and others may lie there.
  return twin && twin->data() == data ? twin : c10::intrusive_ptr<c10::StorageImpl>();
}

void list_in_pools(StorageBlock& block) {
  if (!Runtime::get().memory(block.device).pool_of(block.address)) return;
  block.listed = true;
  PoolBlocks::get().add(block);
}

void unlist_in_pools(StorageBlock& block) {
  block.listed = false;
  PoolBlocks::get().remove(block.device, block.address);
}

}  // namespace torchport::vdev
