// Which bytes lie in the blocks of private pools: what checkpoints of pools have to know.
//
// Programs name memory by the address of its bytes (data_ptr), the memory model by that of its
// block. CUDA graph trees keep addresses of tensors that are gone, free them, and make tensors over
// them again. Only blocks that were taken from a private pool are noted, and only while one is in
// use, so that other programs do not pay for it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "runtime/virtual/core/storage_blocks.h"

namespace torchport::vdev {

// Thread safe. Never destroyed: tensors may outlive all static objects.
class PoolBlocks {
 public:
  struct Entry {
    c10::DeviceIndex device = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    void* data = nullptr;
    c10::intrusive_ptr<c10::StorageImpl> twin{};
    StorageBlock* owner = nullptr;  // null: a block that is in use although its storage is gone
  };

  static PoolBlocks& get();

  // Adds the block of a storage. The bytes can be found as long as somebody keeps them.
  void add(StorageBlock& block);
  // Adds a block that no storage has. Its bytes are kept.
  void add_without_owner(const Entry& entry);
  void remove(c10::DeviceIndex device, std::uint64_t address);

  [[nodiscard]] std::optional<Entry> at(c10::DeviceIndex device, std::uint64_t address) const;
  [[nodiscard]] std::optional<Entry> at_data(const void* data) const;
  // The bytes that a storage of a pool had there, if somebody keeps them; else null.
  [[nodiscard]] c10::intrusive_ptr<c10::StorageImpl> twin_at(const void* data) const;

 private:
  struct Listed {
    Entry entry;  // its twin is only held if there is no owner
    c10::weak_intrusive_ptr<c10::StorageImpl> twin;
  };
  using Key = std::pair<c10::DeviceIndex, std::uint64_t>;
  struct HashOfKey {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()(key.second) * 31 + static_cast<std::size_t>(key.first);
    }
  };

  void note_twin(const c10::intrusive_ptr<c10::StorageImpl>& twin, const void* data);
  static Entry complete(const Listed& listed);

  mutable std::mutex mutex_;
  std::unordered_map<Key, Listed, HashOfKey> blocks_;
  std::unordered_map<const void*, c10::weak_intrusive_ptr<c10::StorageImpl>> twins_;
  std::size_t twins_to_sweep_at_ = 1024;
};

}  // namespace torchport::vdev
