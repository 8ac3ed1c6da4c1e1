#include "runtime/virtual/without_data/host_copies.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/typed_kernel.h"
#include "runtime/virtual/without_data/values.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::StorageImpl;
using torch::jit::Stack;

// The memory, by its address, which no other has while it is known here.
class AbsentMemory {
 public:
  static AbsentMemory& all() {
    static auto* one = new AbsentMemory();
    return *one;
  }

  [[nodiscard]] bool any() const { return any_.load(std::memory_order_acquire); }

  void add(const Tensor& tensor) {
    const c10::Storage& storage = tensor.storage();
    const std::scoped_lock lock(mutex_);
    if (known_.size() >= next_look_) {
      std::erase_if(known_, [](const auto& one) { return one.second.expired(); });
      next_look_ = std::max(kFirstLook, known_.size() * 2);
    }
    known_.insert_or_assign(storage.unsafeGetStorageImpl(), storage.getWeakStorageImpl());
    any_.store(true, std::memory_order_release);
  }

  [[nodiscard]] bool has(const Tensor& tensor) {
    if (!any()) return false;
    const std::scoped_lock lock(mutex_);
    return known_.contains(tensor.storage().unsafeGetStorageImpl());
  }

 private:
  static constexpr std::size_t kFirstLook = 256;

  std::mutex mutex_;
  std::unordered_map<StorageImpl*, c10::weak_intrusive_ptr<StorageImpl>> known_;
  std::size_t next_look_ = kFirstLook;
  std::atomic<bool> any_{false};
};

bool is_of_host(const Tensor& tensor) {
  return tensor.defined() && tensor.is_cpu() && tensor.has_storage();
}

class HostKernel final : public c10::OperatorKernel {
 public:
  HostKernel(const c10::OperatorHandle& op, c10::SafeKernelFunction below)
      : below_(std::move(below)), rule_(value_rule_of(op.operator_name())) {
    const auto& arguments = op.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const c10::AliasInfo* alias = arguments[i].alias_info();
      if (alias != nullptr && alias->isWrite()) written_.push_back(i);
    }
  }

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) const {
    const std::size_t count = op.schema().arguments().size();
    const std::size_t first = stack->size() - count;
    if (!AbsentMemory::all().any() || !any_absent(stack->data() + first, count)) {
      below_.callBoxed(op, keys, stack);
      return;
    }
    if (rule_ != nullptr && rule_->reads) {
      note_read(op.operator_name());
      // A mask of what is not there chooses all, as on a device.
      if (rule_->is_size && instead(stack, first)) return;
    }
    c10::SmallVector<Tensor, 2> written;
    for (const std::size_t i : written_)
      observer::each_tensor((*stack)[first + i],
                            [&](const Tensor& one) { written.push_back(one); });
    below_.callBoxed(op, keys, stack);
    for (const Tensor& one : written) mark_absent_on_host(one);
    for (std::size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i)
      observer::each_tensor((*stack)[i], &mark_absent_on_host);
  }

 private:
  bool instead(Stack* stack, std::size_t first) const {
    const at::AutoDispatchBelowADInplaceOrView below;
    return rule_->instead(stack, first);
  }

  static bool any_absent(const c10::IValue* arguments, std::size_t count) {
    bool any = false;
    for (std::size_t i = 0; i < count && !any; ++i)
      observer::each_tensor(arguments[i],
                            [&](const Tensor& one) { any = any || is_absent_on_host(one); });
    return any;
  }

  c10::SafeKernelFunction below_;
  const ValueRule* rule_;
  c10::SmallVector<std::size_t, 2> written_;
};

}  // namespace

bool is_absent_on_host(const Tensor& tensor) {
  return is_of_host(tensor) && AbsentMemory::all().has(tensor);
}

void mark_absent_on_host(const Tensor& tensor) {
  if (is_of_host(tensor)) AbsentMemory::all().add(tensor);
}

void cover_host_kernel(const c10::OperatorHandle& op) {
  constexpr auto kKey = c10::DispatchKey::CPU;
  if (!op.hasKernelForDispatchKey(kKey)) return;
  put(op, kKey,
      c10::KernelFunction::makeFromBoxedFunctor<HostKernel>(
          std::make_unique<HostKernel>(op, op.getComputedKernelForDispatchKey(kKey))));
}

}  // namespace torchport::vdev
