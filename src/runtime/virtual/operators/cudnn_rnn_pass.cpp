#include "runtime/virtual/operators/cudnn_rnn_pass.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

#include <c10/core/Allocator.h>

namespace torchport::vdev {

namespace {

using Name = std::uint64_t;

// What stands under the bytes of a reserve in the place of their own context.
struct Kept {
  c10::DataPtr bytes;
  RnnPass pass;
  Name name = 0;
};

void drop(void* context) {
  delete static_cast<Kept*>(context);
}

std::uint8_t* end_of(const at::Tensor& reserve) {
  return reserve.mutable_data_ptr<std::uint8_t>() + reserve.numel() - sizeof(Name);
}

}  // namespace

void keep_pass(const at::Tensor& reserve, RnnPass pass) {
  static std::atomic<Name> last{0};
  c10::StorageImpl& storage = *reserve.storage().unsafeGetStorageImpl();
  const Name name = ++last;
  std::memcpy(end_of(reserve), &name, sizeof(name));
  auto* kept = new Kept{storage.set_data_ptr(c10::DataPtr()), std::move(pass), name};
  storage.set_data_ptr_noswap({kept->bytes.get(), kept, &drop, kept->bytes.device()});
}

const RnnPass* pass_of(const at::Tensor& reserve) {
  const c10::DataPtr& bytes = reserve.storage().data_ptr();
  if (bytes.get_deleter() != &drop) return nullptr;
  const auto* kept = static_cast<const Kept*>(bytes.get_context());
  return std::memcmp(end_of(reserve), &kept->name, sizeof(Name)) == 0 ? &kept->pass : nullptr;
}

}  // namespace torchport::vdev
