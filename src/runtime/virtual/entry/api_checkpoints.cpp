// Answers the torch._C shim about checkpoints of private pools, as operators
// torch.ops.torchport.*. Storages are given by their addresses, as torch._C gets them.
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include "runtime/virtual/core/checkpoints.h"
#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

// The checkpoints of the program, by number.
struct Checkpoints {
  std::mutex mutex;
  std::int64_t last = 0;
  std::unordered_map<std::int64_t, Checkpoint> all;
};

Checkpoints& checkpoints() {
  static auto* all = new Checkpoints();
  return *all;
}

c10::StorageImpl* storage_at(std::int64_t address) {
  return reinterpret_cast<c10::StorageImpl*>(address);  // NOLINT(performance-no-int-to-ptr)
}

const void* data_at(std::int64_t address) {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

std::vector<c10::StorageImpl*> storages_at(const std::vector<std::int64_t>& addresses) {
  std::vector<c10::StorageImpl*> result;
  for (const std::int64_t address : addresses) result.push_back(storage_at(address));
  return result;
}

device::PoolId pool_named(std::int64_t first, std::int64_t second) {
  return {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second)};
}

std::int64_t take_checkpoint(std::int64_t device, std::int64_t first, std::int64_t second) {
  Checkpoint made = checkpoint_of(static_cast<c10::DeviceIndex>(device), pool_named(first, second));
  Checkpoints& all = checkpoints();
  const std::lock_guard lock(all.mutex);
  all.all.emplace(++all.last, std::move(made));
  return all.last;
}

void drop_checkpoint(std::int64_t number) {
  Checkpoints& all = checkpoints();
  decltype(all.all)::node_type dropped;  // is let go without the lock
  const std::lock_guard lock(all.mutex);
  dropped = all.all.extract(number);
}

void return_to_checkpoint(std::int64_t number, const std::vector<std::int64_t>& stale,
                          const std::vector<std::int64_t>& owners) {
  Checkpoint checkpoint;
  {
    Checkpoints& all = checkpoints();
    const std::lock_guard lock(all.mutex);
    checkpoint = all.all.at(number);
  }
  return_to(checkpoint, storages_at(stale), storages_at(owners));
}

bool pool_has_in_use(std::int64_t device, std::int64_t first, std::int64_t second,
                     const std::vector<std::int64_t>& data) {
  std::unordered_set<const void*> expected;
  for (const std::int64_t one : data) expected.insert(data_at(one));
  return in_use_are(static_cast<c10::DeviceIndex>(device), pool_named(first, second), expected);
}

at::Tensor tensor_of(c10::Storage storage, c10::ScalarType type) {
  return at::detail::make_tensor<c10::TensorImpl>(std::move(storage),
                                                  c10::DispatchKeySet(Runtime::get().kind().dense),
                                                  c10::scalarTypeToTypeMeta(type));
}

// A tensor over the same bytes that keeps them and no block of memory.
at::Tensor same_bytes(const at::Tensor& tensor) {
  at::Tensor result = tensor_of(over_same_bytes(tensor.storage()), tensor.scalar_type());
  result.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                      tensor.storage_offset());
  result._set_conj(tensor.is_conj());
  result._set_neg(tensor.is_neg());
  return result;
}

// All bytes there, as a tensor; a tensor without bytes if nobody keeps them.
at::Tensor bytes_at(std::int64_t data, std::int64_t device, std::int64_t bytes) {
  c10::Storage storage = over_bytes_at(data_at(data), static_cast<c10::DeviceIndex>(device),
                                       static_cast<std::uint64_t>(bytes));
  if (!storage) return {};
  at::Tensor result = tensor_of(std::move(storage), c10::kByte);
  result.unsafeGetTensorImpl()->set_sizes_contiguous({bytes});
  return result;
}

void set_storage_error(const at::Tensor& tensor, std::string message) {
  tensor.unsafeGetTensorImpl()->release_storage_and_set_meta_custom_data_ptr_error_msg_(
      std::move(message));
}

void set_data_error(std::int64_t storage, std::string message) {
  storage_at(storage)->release_data_and_set_meta_custom_data_ptr_error_msg_(std::move(message));
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("take_checkpoint(int device, int first, int second) -> int", &take_checkpoint);
  library.def("drop_checkpoint(int number) -> ()", &drop_checkpoint);
  library.def("return_to_checkpoint(int number, int[] stale, int[] owners) -> ()",
              &return_to_checkpoint);
  library.def("pool_has_in_use(int device, int first, int second, int[] data) -> bool",
              &pool_has_in_use);
  library.def("free_block(int data) -> bool",
              [](std::int64_t data) { return free_block(data_at(data)); });
  library.def("free_block_of(int storage) -> ()",
              [](std::int64_t storage) { free_block_of(*storage_at(storage)); });
  library.def("owns_block(int storage) -> bool",
              [](std::int64_t storage) { return owns_block(*storage_at(storage)); });
  library.def("same_bytes(Tensor tensor) -> Tensor", &same_bytes);
  library.def(
      "bytes_at(int data, int device, int bytes) -> Tensor?",
      [](std::int64_t data, std::int64_t device, std::int64_t bytes) -> std::optional<at::Tensor> {
        at::Tensor found = bytes_at(data, device, bytes);
        return found.defined() ? std::optional(found) : std::nullopt;
      });
  library.def("set_storage_error(Tensor tensor, str message) -> ()", &set_storage_error);
  library.def("set_data_error(int storage, str message) -> ()", &set_data_error);
}

}  // namespace

}  // namespace torchport::vdev
