#include "runtime/virtual/core/copy_on_write.h"

#include <mutex>
#include <unordered_map>

#include <c10/core/StorageImpl.h>
#include <c10/core/impl/COW.h>
#include <c10/core/impl/COWDeleter.h>

#include "runtime/virtual/core/host_allocator.h"
#include "runtime/virtual/core/placed_blocks.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/torch_releases.h"

namespace torchport::vdev {

namespace {

using c10::DataPtr;
using c10::Device;
using c10::intrusive_ptr;
using c10::StorageImpl;

// The blocks of storages that are or were copied on write, by the address of their bytes: PyTorch
// keeps nothing but that address for such a storage.
class SharedBlocks {
 public:
  static SharedBlocks& get() {
    static auto* blocks = new SharedBlocks();
    return *blocks;
  }

  void put(void* data, StorageBlock* block) {
    const std::scoped_lock lock(mutex_);
    blocks_.emplace(data, block);
  }

  StorageBlock* at(const void* data) {
    const std::scoped_lock lock(mutex_);
    const auto found = blocks_.find(data);
    return found == blocks_.end() ? nullptr : found->second;
  }

  StorageBlock* take(const void* data) {
    const std::scoped_lock lock(mutex_);
    const auto node = blocks_.extract(data);
    return node.empty() ? nullptr : node.mapped();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, StorageBlock*> blocks_;
};

void delete_shared_block(void* data) {
  StorageBlock* block = SharedBlocks::get().take(data);
  if (block == nullptr) return;
  unplace_block(*block);
  give_back(*block);
  const HostMemoryOfDevice of_device;
  delete block;
}

}  // namespace

bool is_shared(const DataPtr& pointer) {
  return pointer.get_deleter() == &delete_shared_block || c10::impl::cow::is_cow_data_ptr(pointer);
}

StorageBlock* shared_block_at(const void* data) {
  return SharedBlocks::get().at(data);
}

void forget_shared_block(const void* data) {
  SharedBlocks::get().take(data);
}

intrusive_ptr<StorageImpl> lazy_clone_of(StorageImpl& storage) {
  namespace cow = c10::impl::cow;
  const DataPtr& pointer = storage.data_ptr();
  StorageBlock* block = block_of(pointer);
  // What has no bytes needs no block: of two such storages, either may be written first.
  const bool is_empty = pointer.get() == nullptr && storage.nbytes() == 0;
  if (block == nullptr && !is_empty) return {};
  void* data = storage._mutable_data_ptr_no_checks().get();
  const Device device = pointer.device();
  if (!cow::is_cow_data_ptr(pointer)) {
    if (is_empty) {
      storage.set_data_ptr_noswap(DataPtr(nullptr, device));
    } else if (!is_shared(pointer)) {
      SharedBlocks::get().put(data, block);
    }
    storage._mutable_data_ptr_no_checks().release_context();
    auto* context = new cow::COWDeleterContext({data, &delete_shared_block});
    storage.set_data_ptr_noswap(DataPtr(data, context, &cow::cow_deleter, device));
    materialize_at_write(storage);
  }
  auto* context = storage.data_ptr().cast_context<cow::COWDeleterContext>(&cow::cow_deleter);
  context->increment_refcount();
  auto clone = c10::make_intrusive<StorageImpl>(
      StorageImpl::use_byte_size_t(), storage.sym_nbytes(),
      DataPtr(data, context, &cow::cow_deleter, device), device_allocator(), storage.resizable());
  materialize_at_write(*clone);
  return clone;
}

}  // namespace torchport::vdev
