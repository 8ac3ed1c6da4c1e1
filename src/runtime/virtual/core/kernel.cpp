#include "runtime/virtual/core/kernel.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DeviceGuard.h>

#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/core/with_tensors.h"
#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/errors/kernel_names.h"
#include "runtime/virtual/errors/late_results.h"
#include "runtime/virtual/planning/memory_record.h"

namespace torchport::vdev {

namespace {

using c10::IValue;
using torch::jit::Stack;

// Converts an argument to what the CPU's kernel takes. A generator reserves `numbers`.
IValue to_cpu(IValue value, Aliases& aliases, Aliases::Use use, std::uint64_t numbers) {
  const auto other = [&](IValue one) -> IValue {
    if (one.isDevice()) {
      const c10::Device device = one.toDevice();
      if (device.is_cpu()) aliases.stay_on_host();
      if (!is_virtual(device)) return one;
      aliases.set_device(device.has_index() ? device.index() : c10::DeviceIndex{-1});
      return c10::Device(c10::DeviceType::CPU);
    }
    if (!one.isGenerator() || !one.toGenerator().defined()) return one;
    return host_generator(one.toGenerator(), numbers);
  };
  return with_tensors(
      std::move(value), [&](at::Tensor tensor) { return aliases.of(std::move(tensor), use); },
      other);
}

// Whether a value of this type can hold something of a device's.
bool can_hold(const c10::Type& type) {
  const std::string text = type.str();
  for (const char* part : {"Tensor", "Device", "Generator", "Any", "t["}) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

bool is_tensor_list(const c10::Type& type) {
  return type.str() == "Tensor[]";
}

// Whether an operator writes to an argument that its schema does not mark: running statistics.
bool writes_unmarked(const c10::FunctionSchema& schema, const c10::Argument& argument) {
  const bool updates = schema.name() == "aten::native_batch_norm" ||
                       schema.name() == "aten::batch_norm_update_stats";
  return updates && argument.alias_info() == nullptr && argument.name().starts_with("running_");
}

using Devices = c10::SmallVector<c10::DeviceIndex, 8>;

Devices devices_of(const IValue& list) {
  Devices devices;
  for (const IValue& element : list.toListRef()) {
    const at::Tensor& tensor = element.toTensor();
    devices.push_back(tensor.defined() && is_virtual(tensor.device()) ? tensor.device().index()
                                                                      : c10::DeviceIndex{-1});
  }
  return devices;
}

IValue to_device(IValue value, Aliases& aliases) {
  return with_tensors(std::move(value),
                      [&](at::Tensor tensor) { return aliases.back(std::move(tensor)); });
}

// Converts the results for a list of tensors that may be on several devices.
IValue each_to_device(const IValue& value, const Devices& devices, Aliases& aliases) {
  if (!value.isTensorList() || value.toListRef().size() != devices.size())
    return to_device(value, aliases);
  c10::List<at::Tensor> list;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    aliases.set_device(devices[i]);
    list.push_back(aliases.back(value.toListRef()[i].toTensor()));
  }
  return list;
}

// Raises what the host raises for a tensor that is written to and read at different places, or that
// has one element at several.
void check_overlaps(const c10::FunctionSchema& schema, const std::vector<IValue>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias == nullptr || !alias->isWrite() || !arguments[i].isTensor()) continue;
    const at::Tensor& written = arguments[i].toTensor();
    at::assert_no_internal_overlap(written);
    for (std::size_t j = 0; j < arguments.size(); ++j) {
      if (i == j) continue;
      observer::each_tensor(arguments[j],
                            [&](const at::Tensor& read) { at::assert_no_overlap(written, read); });
    }
  }
}

// What a kernel of a real device asserts of a call that the CPU's kernel refused, and what the call
// returns.
struct LateFailure {
  FailedAssertion failed;
  std::vector<IValue> results;
};

// Nothing if it is the host that refuses it.
std::optional<LateFailure> late_failure(const c10::OperatorHandle& op,
                                        const KernelAssertion& asserts,
                                        const std::vector<IValue>& arguments) {
  try {
    const CallArguments given(op.schema(), arguments.data());
    auto failed = asserts.failed_by(given);
    if (!failed) return {};
    check_overlaps(op.schema(), arguments);
    auto results = late_results(op, arguments);
    if (!results && asserts.results() != nullptr) results = asserts.results()(given);
    if (!results) return {};
    return LateFailure{std::move(*failed), std::move(*results)};
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

c10::SmallVector<c10::DataPtr, 2> take_workspaces(const Workspaces& blocks, c10::DeviceIndex device,
                                                  bool dispensable) {
  const c10::DeviceGuard guard(c10::Device(Runtime::get().kind().type, device));
  const TakesWorkspace workspace;
  c10::SmallVector<c10::DataPtr, 2> held;
  try {
    for (const std::int64_t bytes : blocks)
      held.push_back(device_allocator()->allocate(static_cast<std::size_t>(bytes)));
  } catch (const c10::OutOfMemoryError&) {
    if (!dispensable) throw;
    held.clear();
  }
  return held;
}

namespace {

void write_back(const IValue& value, Aliases& aliases) {
  if (value.isTensor()) {
    aliases.write_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const IValue& element : value.toListRef()) aliases.write_back(element.toTensor());
  }
}

// The device's key for the tensors that a kernel with this key takes on the CPU.
c10::DispatchKey device_key_of(c10::DispatchKey cpu) {
  const KindKeys& kind = Runtime::get().kind();
  return cpu == c10::DispatchKey::SparseCPU      ? kind.sparse
         : cpu == c10::DispatchKey::SparseCsrCPU ? kind.sparse_csr
                                                 : kind.dense;
}

}  // namespace

AliasKernel::AliasKernel(const c10::OperatorHandle& op, c10::DispatchKey cpu, TypeRules types,
                         Choice instead)
    : cpu_(cpu),
      refuses_(types.refuses),
      instead_(instead),
      wider_(types.widened, types.slow),
      check_(op.schema(), device_key_of(cpu)),
      determinism_and_sync_(observer::semantics_of(op)) {
  const observer::OperatorSemantics& semantics = observer::semantics_of(op);
  generator_ = semantics.generator;
  draws_ = semantics.draws && generator_ < 0;
  numbers_ = numbers_reserved_by(op.schema().name());
  blas_ = blas_use_of(op.schema().name());
  tf32_ = tf32_of(op.operator_name(), cpu);
  starts_kernel_ = !semantics.returns_views && !semantics.has(observer::kAsksOnly);
  reads_nothing_ = semantics.has(observer::kMakes) || op.hasTag(at::Tag::inplace_view);
  host_waits_ = semantics.returns_number || op.hasTag(at::Tag::data_dependent_output) ||
                op.hasTag(at::Tag::dynamic_output_shape);
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!can_hold(*arguments[i].type())) continue;
    const c10::AliasInfo* alias = arguments[i].alias_info();
    const bool unmarked = writes_unmarked(op.schema(), arguments[i]);
    arguments_.push_back({static_cast<std::uint32_t>(i),
                          unmarked || (alias != nullptr && alias->isWrite()), unmarked});
  }
  training_ = op.schema().argumentIndexWithName("training").value_or(-1);
  result_rule_ = result_rule_of(op.operator_name(), cpu);
  workspace_ = workspace_of(op.operator_name(), cpu);
  iterates_ = cpu == c10::DispatchKey::CPU && has_layout_of_iterator(op);
  const auto& returns = op.schema().returns();
  each_apart_ = !arguments.empty() && is_tensor_list(*arguments[0].type()) && returns.size() == 1 &&
                is_tensor_list(*returns[0].type());
}

void AliasKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                             Stack* stack) const {
  const std::size_t first = stack->size() - op.schema().arguments().size();
  check_(stack->data() + first);
  if (refuses_ != nullptr) refuses_(stack->data() + first);
  const Compute chosen = instead_ == nullptr ? nullptr : instead_(stack->data() + first);
  determinism_and_sync_(stack->data() + first);
  const BlasUse blas = blas_use_of_call(stack->data() + first);
  if (any_device_failed()) check_devices(stack->data() + first);
  if (any_capture() && starts_kernel_) check_capture(stack->data() + first);
  late::Call uses;
  if (streams_are_late() && starts_kernel_ && !reads_nothing_)
    note_accesses(stack->data() + first, uses);
  const Workspaces taken = workspaces_of_call(stack->data() + first);
  Aliases aliases;
  aliases.allow_unallocated();
  Devices devices;
  if (each_apart_) devices = devices_of((*stack)[first]);
  c10::SmallVector<IValue, 4> written;
  for (const Argument& argument : arguments_) {
    IValue& value = (*stack)[first + argument.index];
    if (value.isNone()) continue;
    const bool writes = is_written(argument, stack->data() + first);
    value = to_cpu(std::move(value), aliases,
                   writes ? Aliases::Use::kMayWrite : Aliases::Use::kReads, numbers_);
    if (writes) written.push_back(value);
  }
  if (generator_ >= 0) {
    IValue& generator = (*stack)[first + static_cast<std::size_t>(generator_)];
    // Only the generator brought this call to the device.
    TORCH_CHECK(generator.isNone() || !aliases.only_host(),
                "Expected a 'cpu' device type for generator but found '",
                Runtime::get().kind_name(), "'");
    if (generator.isNone())
      generator = host_generator(default_generator(aliases.device()), numbers_);
  }
  if (aliases.any_unallocated()) check_memory(op, aliases, stack, first);
  if (streams_are_late()) uses.hide(aliases);
  std::vector<IValue> given;
  if (has_other_results(stack->data() + first, stack->size() - first))
    given.assign(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
  std::optional<FailedAssertion> failed;
  {
    // Autograd has already seen this call, so nothing below is recorded or tracked as a view.
    const at::AutoDispatchBelowADInplaceOrView below;
    const DrawFrom draw(draws_ ? aliases.device() : kNoDevice);
    failed = compute(op, chosen, stack, first);
    if (!given.empty() && !failed) {
      IValue* const results = stack->data() + first;
      if (result_rule_ != nullptr) {
        result_rule_(given.data(), results);
      } else {
        lay_out_as_iterator(given.data(), given.size(), *results);
      }
    }
  }
  for (const IValue& value : written) write_back(value, aliases);
  const std::size_t results = op.schema().returns().size();
  // Taken while the results exist, as by CUDA's kernels.
  c10::SmallVector<c10::DataPtr, 2> held;
  const bool takes_last = takes_dispensable_memory();
  if (!taken.empty() && !takes_last) held = take(taken, aliases.device());
  for (std::size_t i = stack->size() - results; i < stack->size(); ++i) {
    IValue& result = (*stack)[i];
    result = each_apart_ ? each_to_device(result, devices, aliases)
                         : to_device(std::move(result), aliases);
  }
  // What the device can do without must leave room for the results.
  if (!taken.empty() && takes_last) held = take(taken, aliases.device());
  if (blas != BlasUse::kNone) take_blas_workspaces(blas, aliases.device());
  if (failed) fail(aliases.device(), op.operator_name().name, *failed);
}

c10::SmallVector<c10::DataPtr, 2> AliasKernel::take(const Workspaces& blocks,
                                                    c10::DeviceIndex device) const {
  return take_workspaces(blocks, device, takes_dispensable_memory());
}

bool AliasKernel::may_be_plain() const {
  return cpu_ == c10::DispatchKeySet(c10::DispatchKey::CPU) && generator_ < 0 && !draws_ &&
         !each_apart_ && training_ < 0 && result_rule_ == nullptr;
}

bool AliasKernel::is_plain(const c10::OperatorHandle& op, const IValue* arguments,
                           std::size_t count) const {
  if (any_device_failed() || any_capture() || streams_are_late() || assertion(op) != nullptr ||
      wider_.may_widen(arguments, count) || (tf32_ != Tf32::kNever && uses_tf32(tf32_, arguments)))
    return false;
  check_(arguments);
  if (refuses_ != nullptr) refuses_(arguments);
  if (instead_ != nullptr && instead_(arguments) != nullptr) return false;
  if (iterates_ && promotes_with_gaps(arguments, count)) return false;
  determinism_and_sync_(arguments);
  return true;
}

void AliasKernel::call(const c10::OperatorHandle& op, Compute chosen, Stack* stack) const {
  const auto kernel = [&] {
    if (chosen != nullptr) {
      chosen(stack);
    } else {
      wider_(op, cpu_, stack);
    }
  };
  const std::size_t first = stack->size() - op.schema().arguments().size();
  if (tf32_ != Tf32::kNever && uses_tf32(tf32_, stack->data() + first)) {
    in_tf32(op.schema(), stack, kernel);
  } else {
    kernel();
  }
}

std::optional<FailedAssertion> AliasKernel::compute(const c10::OperatorHandle& op, Compute chosen,
                                                    Stack* stack, std::size_t first) const {
  const KernelAssertion* asserts = assertion(op);
  if (asserts == nullptr) {
    try {
      call(op, chosen, stack);
    } catch (const c10::Error&) {
      rethrow_with_names_of_device(op.operator_name().name);
      throw;
    }
    return {};
  }
  const auto from = stack->begin() + static_cast<std::ptrdiff_t>(first);
  const std::vector<IValue> arguments(from, stack->end());
  try {
    call(op, chosen, stack);
    return {};
  } catch (const c10::Error&) {
    auto late = late_failure(op, *asserts, arguments);
    if (!late) {
      rethrow_with_names_of_device(op.operator_name().name);
      throw;
    }
    stack->resize(first);
    stack->insert(stack->end(), late->results.begin(), late->results.end());
    return std::move(late->failed);
  }
}

bool AliasKernel::has_other_results(const IValue* arguments, std::size_t count) const {
  return result_rule_ != nullptr || (iterates_ && promotes_with_gaps(arguments, count));
}

const KernelAssertion* AliasKernel::assertion(const c10::OperatorHandle& op) const {
  if (!errors_are_late()) return nullptr;
  if (!looked_up_.load(std::memory_order_acquire)) {
    assertion_ = KernelAssertion::of(op);
    looked_up_.store(true, std::memory_order_release);
  }
  return assertion_.load(std::memory_order_relaxed);
}

}  // namespace torchport::vdev
