#include "runtime/virtual/without_data/without_data.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include "runtime/observer/operator_semantics.h"
#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/blas_workspaces.h"
#include "runtime/virtual/core/device_check.h"
#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/core/phantom.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/typed_kernel.h"
#include "runtime/virtual/operators/workspaces.h"
#include "runtime/virtual/without_data/meta_aliases.h"
#include "runtime/virtual/without_data/values.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using torch::jit::Stack;

// What the arguments of a call have.
struct Data {
  bool lacks = false;    // one has no values
  bool made_up = false;  // the values of one are made up
  bool plain = true;     // meta tensors can stand in for all
};

Data data_of(const IValue* arguments, std::size_t count) {
  Data data;
  const auto ask = [&](const Tensor& tensor) {
    if (!tensor.defined()) return;
    data.plain = data.plain && MetaAliases::is_plain(tensor);
    data.lacks = data.lacks || lacks_data(tensor);
    data.made_up = data.made_up || is_made_up(tensor);
  };
  for (std::size_t i = 0; i < count; ++i) observer::each_tensor(arguments[i], ask);
  return data;
}

IValue to_meta(const IValue& value, MetaAliases& aliases) {
  if (value.isTensor()) return aliases.of(value.toTensor());
  if (value.isTensorList()) {
    c10::List<Tensor> list;
    list.reserve(value.toListRef().size());
    for (const IValue& element : value.toListRef()) list.push_back(aliases.of(element.toTensor()));
    return list;
  }
  if (value.isDevice()) {
    if (!is_virtual(value.toDevice())) return value;
    if (value.toDevice().has_index()) aliases.set_device(value.toDevice().index());
    return c10::Device(c10::DeviceType::Meta);
  }
  if (value.isGenerator()) return IValue();  // nothing is drawn
  if (value.isList()) {
    const auto from = value.toList();
    auto list = c10::impl::GenericList(from.elementType());
    for (const IValue& element : from) list.push_back(to_meta(element, aliases));
    return list;
  }
  return value;
}

IValue from_meta(const IValue& value, MetaAliases& aliases) {
  if (value.isTensor()) return aliases.back(value.toTensor());
  if (value.isTensorList()) {
    c10::List<Tensor> list;
    list.reserve(value.toListRef().size());
    for (const IValue& element : value.toListRef())
      list.push_back(aliases.back(element.toTensor()));
    return list;
  }
  return value;
}

class WithoutDataKernel final : public c10::OperatorKernel {
 public:
  WithoutDataKernel(const c10::OperatorHandle& op, c10::SafeKernelFunction below)
      : below_(std::move(below)),
        check_(op.schema(), Runtime::get().kind().dense),
        blas_(blas_use_of(op.schema().name())),
        workspace_(workspace_of(op.operator_name(), DispatchKey::CPU)),
        rule_(value_rule_of(op.operator_name())) {
    const auto& arguments = op.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const c10::AliasInfo* alias = arguments[i].alias_info();
      if (alias != nullptr && alias->isWrite()) written_.push_back(i);
    }
  }

  void operator()(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack) const {
    const std::size_t count = op.schema().arguments().size();
    const std::size_t first = stack->size() - count;
    const Data data = data_of(stack->data() + first, count);
    if (!data.lacks) {
      if (data.made_up && rule_ != nullptr && rule_->reads) note_read(op.operator_name());
      below_.callBoxed(op, keys, stack);
      if (data.made_up) mark_results(op, *stack);
      return;
    }
    check_(stack->data() + first);
    if (rule_ != nullptr) {
      if (rule_->reads) note_read(op.operator_name());
      if (rule_->instead != nullptr && rule_->instead(stack, first)) return;
    }
    const bool by_below = rule_ != nullptr && rule_->computes;
    if (data.plain && !by_below && by_meta(op, stack, first, count)) return;
    note_computed_on_zeros(op.operator_name());
    below_.callBoxed(op, keys, stack);
    mark_results(op, *stack);
  }

 private:
  // Whether the meta kernel did it: then the results are on the stack, else the arguments.
  bool by_meta(const c10::OperatorHandle& op, Stack* stack, std::size_t first,
               std::size_t count) const {
    const auto from = stack->begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<IValue> given(from, stack->end());
    const auto taken = workspace_ == nullptr ? Workspaces() : Workspaces(workspace_(given.data()));
    const BlasUse blas = blas_ == BlasUse::kNone ? blas_ : blas_use(blas_, given.data());
    MetaAliases aliases;
    for (std::size_t i = 0; i < count; ++i) {
      IValue& value = (*stack)[first + i];
      if (!value.isNone()) value = to_meta(value, aliases);
    }
    c10::SmallVector<IValue, 4> written;
    for (const std::size_t i : written_) written.push_back((*stack)[first + i]);
    try {
      // Autograd has already seen this call, so nothing below is recorded or tracked as a view.
      const at::AutoDispatchBelowADInplaceOrView below;
      op.redispatchBoxed(DispatchKeySet(DispatchKey::Meta), stack);
    } catch (const c10::NotImplementedError&) {
      restore(given, stack, first);
      return false;
    }
    const std::size_t results = op.schema().returns().size();
    bool plain = true;
    for (std::size_t i = stack->size() - results; i < stack->size(); ++i)
      observer::each_tensor((*stack)[i], [&](const Tensor& one) {
        plain = plain && (!one.defined() || MetaAliases::is_plain(one));
      });
    if (!plain) {  // a gradient that is sparse, say
      restore(given, stack, first);
      return false;
    }
    for (const IValue& value : written)
      observer::each_tensor(value, [&](const Tensor& one) { aliases.write_back(one); });
    c10::SmallVector<c10::DataPtr, 2> held;
    const bool takes_last = is_dispensable(workspace_);
    if (!taken.empty() && !takes_last) held = take_workspaces(taken, aliases.device());
    for (std::size_t i = stack->size() - results; i < stack->size(); ++i)
      (*stack)[i] = from_meta((*stack)[i], aliases);
    if (!taken.empty() && takes_last) held = take_if_there_is_room(taken, aliases.device());
    if (blas != BlasUse::kNone) take_blas_workspaces(blas, aliases.device());
    return true;
  }

  static void restore(const std::vector<IValue>& given, Stack* stack, std::size_t first) {
    stack->resize(first);
    stack->insert(stack->end(), given.begin(), given.end());
  }

  static c10::SmallVector<c10::DataPtr, 2> take_if_there_is_room(const Workspaces& blocks,
                                                                 c10::DeviceIndex device) {
    try {
      return take_workspaces(blocks, device);
    } catch (const c10::OutOfMemoryError&) {
      return {};
    }
  }

  static void mark_results(const c10::OperatorHandle& op, const Stack& stack) {
    for (std::size_t i = stack.size() - op.schema().returns().size(); i < stack.size(); ++i)
      observer::each_tensor(stack[i], [](const Tensor& one) { mark_made_up(one); });
  }

  c10::SafeKernelFunction below_;
  DeviceCheck check_;
  BlasUse blas_;
  Workspace workspace_;
  const ValueRule* rule_;
  c10::SmallVector<std::size_t, 2> written_;
};

// Operators that only make, place or show memory: their kernels need no values.
bool needs_no_values(const c10::OperatorHandle& op) {
  static const std::unordered_set<std::string_view> kMemory = {
      "aten::empty",         "aten::empty_strided", "aten::_efficientzerotensor", "aten::set_",
      "aten::record_stream", "aten::_lazy_clone",   "aten::_fused_sdp_choice"};
  const observer::OperatorSemantics& semantics = observer::semantics_of(op);
  return kMemory.contains(op.operator_name().name) || semantics.returns_views ||
         semantics.has(observer::kAsksOnly) || op.hasTag(at::Tag::inplace_view);
}

void cover(const c10::OperatorHandle& op) {
  const DispatchKey key = Runtime::get().kind().dense;
  if (!op.hasKernelForDispatchKey(key) || needs_no_values(op)) return;
  put(op, key,
      c10::KernelFunction::makeFromBoxedFunctor<WithoutDataKernel>(
          std::make_unique<WithoutDataKernel>(op, op.getComputedKernelForDispatchKey(key))));
}

}  // namespace

void cover_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
      const auto op = c10::Dispatcher::singleton().findSchema(name);
      if (op) cover(*op);
    }
  });
}

}  // namespace torchport::vdev
