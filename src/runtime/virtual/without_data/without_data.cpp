#include "runtime/virtual/without_data/without_data.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/ExpandUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include "runtime/observer/operator_semantics.h"
#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/blas_workspaces.h"
#include "runtime/virtual/core/device_check.h"
#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/core/operator_names.h"
#include "runtime/virtual/core/phantom.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/typed_kernel.h"
#include "runtime/virtual/core/with_tensors.h"
#include "runtime/virtual/operators/workspaces.h"
#include "runtime/virtual/planning/work_record.h"
#include "runtime/virtual/without_data/host_copies.h"
#include "runtime/virtual/without_data/meta_aliases.h"
#include "runtime/virtual/without_data/meta_results.h"
#include "runtime/virtual/without_data/other_layouts.h"
#include "runtime/virtual/without_data/structured_meta.h"
#include "runtime/virtual/without_data/values.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using torch::jit::Stack;

// The number of elements that tensors have together if each is broadcast to the sizes of all. What
// cannot be broadcast is left to the operator, which says so.
std::uint64_t elements_together(const IValue* arguments, std::size_t count) {
  c10::SmallVector<std::int64_t, 6> sizes;  // the last dimension first
  for (std::size_t i = 0; i < count; ++i) {
    if (!arguments[i].isTensor() || !arguments[i].toTensor().defined()) continue;
    const at::IntArrayRef own = arguments[i].toTensor().sizes();
    if (own.size() > sizes.size()) sizes.resize(own.size(), 1);
    for (std::size_t at = 0; at < own.size(); ++at)
      if (sizes[at] == 1) sizes[at] = own[own.size() - 1 - at];
  }
  std::uint64_t elements = 1;
  for (const std::int64_t size : sizes) elements *= static_cast<std::uint64_t>(size);
  return elements;
}

// What the arguments of a call have.
struct Data {
  c10::DeviceIndex device = -1;
  bool lacks = false;    // one has no values
  bool made_up = false;  // the values of one are made up
  bool plain = true;     // meta tensors can stand in for all
};

Data data_of(const IValue* arguments, std::size_t count) {
  Data data;
  const auto ask = [&](const Tensor& tensor) {
    if (!tensor.defined()) return;
    if (data.device < 0 && is_virtual(tensor.device())) data.device = tensor.device().index();
    data.plain = data.plain && MetaAliases::is_plain(tensor);
    // A tensor without elements lacks none of them.
    data.lacks = data.lacks || (tensor.sym_numel() != 0 && lacks_data(tensor));
    data.made_up = data.made_up || is_made_up(tensor);
  };
  for (std::size_t i = 0; i < count; ++i) observer::each_tensor(arguments[i], ask);
  return data;
}

IValue to_meta(IValue value, MetaAliases& aliases) {
  const auto other = [&](IValue one) -> IValue {
    if (one.isGenerator()) return {};  // nothing is drawn
    if (!one.isDevice() || !is_virtual(one.toDevice())) return one;
    if (one.toDevice().has_index()) aliases.set_device(one.toDevice().index());
    return c10::Device(c10::DeviceType::Meta);
  };
  return with_tensors(
      std::move(value), [&](const Tensor& tensor) { return aliases.of(tensor); }, other);
}

IValue from_meta(IValue value, MetaAliases& aliases) {
  return with_tensors(std::move(value), [&](const Tensor& tensor) { return aliases.back(tensor); });
}

// Whether an operator writes its first argument and may not give it other sizes.
bool is_in_place(const c10::OperatorHandle& op) {
  // CUDA's addbmm_ gives a tensor that it expands the sizes of the result.
  static const std::unordered_set<std::string_view> kResize = {
      "aten::resize_", "aten::resize_as_", "aten::resize_as_sparse_", "aten::_resize_output_",
      "aten::addbmm_"};
  const auto& schema = op.schema();
  return schema.name().ends_with('_') && !kResize.contains(schema.name()) &&
         !op.hasTag(at::Tag::inplace_view) && !schema.arguments().empty() &&
         schema.arguments()[0].type()->str() == "Tensor" &&
         schema.arguments()[0].alias_info() != nullptr &&
         schema.arguments()[0].alias_info()->isWrite();
}

class WithoutDataKernel final : public c10::OperatorKernel {
 public:
  WithoutDataKernel(const c10::OperatorHandle& op, c10::SafeKernelFunction below)
      : below_(std::move(below)),
        check_(op.schema(), Runtime::get().kind().dense),
        blas_(blas_use_of(op.schema().name())),
        workspace_(workspace_of(op.operator_name(), DispatchKey::CPU)),
        rule_(value_rule_of(op.operator_name())),
        result_rule_(meta_result_rule_of(op.operator_name())),
        arithmetic_(arithmetic_of(op.operator_name())),
        structured_(structured_meta_of(op.operator_name())),
        is_copy_(full_name(op.operator_name()) == "aten::copy_"),
        in_place_(is_in_place(op)),
        iterates_(op.hasTag(at::Tag::pointwise)) {
    const auto& arguments = op.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const c10::AliasInfo* alias = arguments[i].alias_info();
      if (alias != nullptr && alias->isWrite()) written_.push_back(i);
    }
    for (const c10::Argument& result : op.schema().returns())
      returned_.push_back(argument_of(arguments, result));
  }

  void operator()(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack) const {
    const std::size_t count = op.schema().arguments().size();
    const std::size_t first = stack->size() - count;
    const Data data = data_of(stack->data() + first, count);
    if (!records_work() || data.device < 0) {
      call(op, keys, stack, data);
      return;
    }
    const std::vector<IValue> arguments(stack->begin() + static_cast<std::ptrdiff_t>(first),
                                        stack->end());
    call(op, keys, stack, data);
    if (is_copy_)
      record_copy(data.device, arguments);
    else
      record_work(arithmetic_, data.device, arguments,
                  c10::ArrayRef<IValue>(stack->data() + first, stack->size() - first));
  }

 private:
  void call(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack,
            const Data& data) const {
    const std::size_t count = op.schema().arguments().size();
    const std::size_t first = stack->size() - count;
    if (!data.lacks) {
      if (data.made_up && rule_ != nullptr && rule_->reads) {
        note_read(op.operator_name());
        // A mask of what is not there chooses all, as a larger one does.
        if (rule_->is_size && does_instead(stack, first, data.device)) return;
      }
      // Small tensors that are expanded or broadcast give a large one.
      if (iterates_ && rule_ == nullptr && data.plain &&
          drops_data(elements_together(stack->data() + first, count))) {
        check_(stack->data() + first);
        if (by_meta(op, stack, first, count)) return;
      }
      below_.callBoxed(op, keys, stack);
      if (data.made_up) mark_results(op, *stack);
      return;
    }
    check_(stack->data() + first);
    if (rule_ != nullptr) {
      if (rule_->reads) note_read(op.operator_name());
      if (rule_->calls_others != nullptr && rule_->calls_others(stack->data() + first)) {
        below_.callBoxed(op, keys, stack);
        return;
      }
      if (rule_->instead != nullptr && does_instead(stack, first, data.device)) return;
    }
    const bool by_kernel = rule_ != nullptr && rule_->by_kernel;
    if (data.plain && !by_kernel && by_meta(op, stack, first, count)) return;
    if (!by_kernel) note_computed_on_zeros(op.operator_name());
    below_.callBoxed(op, keys, stack);
    mark_results(op, *stack);
  }

  // The place of the argument that a result is; -1 if it is none.
  static int argument_of(const std::vector<c10::Argument>& arguments, const c10::Argument& result) {
    const c10::AliasInfo* own = result.alias_info();
    if (own == nullptr || !own->isWrite()) return -1;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const c10::AliasInfo* alias = arguments[i].alias_info();
      if (alias != nullptr && alias->isWrite() && alias->beforeSets() == own->beforeSets())
        return static_cast<int>(i);
    }
    return -1;
  }

  // Follows the rule, if it is its call. What CUDA's kernel works in is there beside the results.
  bool does_instead(Stack* stack, std::size_t first, c10::DeviceIndex device) const {
    const auto taken =
        workspace_ == nullptr ? Workspaces() : Workspaces(workspace_(stack->data() + first));
    // Autograd has already seen this call.
    const at::AutoDispatchBelowADInplaceOrView below;
    if (!rule_->instead(stack, first)) return false;
    const auto held = take_workspaces(taken, device);
    return true;
  }

  // Raises what TensorIterator raises for a tensor that is read and written and has other sizes
  // than the result. Many meta kernels would give it these sizes.
  void check_sizes_of_written(const IValue* arguments, std::size_t count) const {
    if (!iterates_ || written_.size() != 1 || !arguments[written_[0]].isTensor()) return;
    const Tensor& written = arguments[written_[0]].toTensor();
    bool is_read = in_place_;
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < count; ++i) {
      if ((i == written_[0] && !in_place_) || !arguments[i].isTensor()) continue;
      const Tensor& read = arguments[i].toTensor();
      if (!read.defined()) continue;
      is_read = is_read || read.is_same(written);
      sizes = at::infer_size(sizes, read.sizes());
    }
    if (is_read) check_same_sizes(written.sizes(), sizes);
  }

  static void check_same_sizes(at::IntArrayRef own, at::IntArrayRef of_result) {
    TORCH_CHECK(own == of_result, "output with shape ", own, " doesn't match the broadcast shape ",
                of_result);
  }

  // Whether the meta kernel did it: then the results are on the stack, else the arguments.
  bool by_meta(const c10::OperatorHandle& op, Stack* stack, std::size_t first,
               std::size_t count) const {
    const auto from = stack->begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<IValue> given(from, stack->end());
    const auto taken = workspace_ == nullptr ? Workspaces() : Workspaces(workspace_(given.data()));
    const BlasUse blas = blas_ == BlasUse::kNone ? blas_ : blas_use(blas_, given.data());
    check_sizes_of_written(given.data(), count);
    MetaAliases aliases;
    for (std::size_t i = 0; i < count; ++i) {
      IValue& value = (*stack)[first + i];
      if (!value.isNone()) value = to_meta(std::move(value), aliases);
    }
    c10::SmallVector<IValue, 4> written;
    for (const std::size_t i : written_) written.push_back((*stack)[first + i]);
    std::vector<IValue> meta;
    if (result_rule_ != nullptr)
      meta.assign(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
    try {
      // Autograd has already seen this call, so nothing below is recorded or tracked as a view.
      const at::AutoDispatchBelowADInplaceOrView below;
      if (structured_ != nullptr)
        structured_->callBoxed(op, DispatchKeySet(DispatchKey::Meta), stack);
      else
        op.redispatchBoxed(DispatchKeySet(DispatchKey::Meta), stack);
      if (result_rule_ != nullptr) result_rule_(meta.data(), stack->data() + first);
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
    if (in_place_) check_same_sizes(given[0].toTensor().sizes(), written[0].toTensor().sizes());
    for (const IValue& value : written)
      observer::each_tensor(value, [&](const Tensor& one) { aliases.write_back(one); });
    c10::SmallVector<c10::DataPtr, 2> held;
    const bool takes_last = is_dispensable(workspace_);
    if (!taken.empty() && !takes_last) held = take_workspaces(taken, aliases.device());
    for (std::size_t i = 0; i < results; ++i) {
      IValue& result = (*stack)[stack->size() - results + i];
      // Some meta kernels return a copy of what they were to write to.
      const int argument = returned_[i];
      if (argument >= 0 && given[static_cast<std::size_t>(argument)].isTensor()) {
        result = given[static_cast<std::size_t>(argument)];
      } else {
        result = from_meta(result, aliases);
      }
    }
    if (rule_ != nullptr && rule_->one_results) make_one(stack->back());
    if (!taken.empty() && takes_last) held = take_workspaces(taken, aliases.device(), true);
    if (blas != BlasUse::kNone) take_blas_workspaces(blas, aliases.device());
    return true;
  }

  static void restore(const std::vector<IValue>& given, Stack* stack, std::size_t first) {
    stack->resize(first);
    stack->insert(stack->end(), given.begin(), given.end());
  }

  static void make_one(const IValue& result) {
    const at::AutoDispatchBelowADInplaceOrView below;
    if (result.isTensor() && !lacks_data(result.toTensor())) result.toTensor().fill_(1);
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
  ResultRule result_rule_;
  ArithmeticOf arithmetic_;
  const c10::KernelFunction* structured_;  // for meta tensors; null: the dispatcher's
  bool is_copy_;
  bool in_place_;
  bool iterates_;  // the result has the sizes of all arguments together
  c10::SmallVector<std::size_t, 2> written_;
  c10::SmallVector<int, 4> returned_;  // of each result, argument_of() it
};

// Operators that only make, place or show memory: their kernels need no values.
bool needs_no_values(const c10::OperatorHandle& op) {
  static const std::unordered_set<std::string_view> kMemory = {
      "aten::empty",         "aten::empty_strided", "aten::_efficientzerotensor", "aten::set_",
      "aten::record_stream", "aten::_lazy_clone",   "aten::_fused_sdp_choice"};
  const observer::OperatorSemantics& semantics = observer::semantics_of(op);
  // Collectives have a way of their own (distributed/distributed.cpp).
  const std::string& name = op.operator_name().name;
  return kMemory.contains(name) || name.starts_with("c10d::") || semantics.returns_views ||
         semantics.has(observer::kAsksOnly) || op.hasTag(at::Tag::inplace_view);
}

void cover(const c10::OperatorHandle& op) {
  const DispatchKey key = Runtime::get().kind().dense;
  if (needs_no_values(op)) return;
  if (op.operator_name().name.starts_with("aten::")) cover_host_kernel(op);
  if (!op.hasKernelForDispatchKey(key)) return;
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
    cover_other_layouts();
  });
}

}  // namespace torchport::vdev
