#include "runtime/virtual/errors/late_results.h"

#include <exception>
#include <utility>

#include <ATen/core/List.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/util/Exception.h>

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;

Tensor strided_like(const Tensor& tensor, c10::DeviceType device) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(device));
}

IValue to_meta(const IValue& value) {
  if (value.isTensor()) {
    const Tensor& tensor = value.toTensor();
    // A number stays what it is: a meta kernel in Python gets its value.
    if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return value;
    return strided_like(tensor, c10::DeviceType::Meta);
  }
  if (value.isTensorList()) {
    c10::List<Tensor> list;
    for (const IValue& element : value.toListRef()) list.push_back(to_meta(element).toTensor());
    return list;
  }
  if (value.isList()) {
    const auto from = value.toList();
    auto list = c10::impl::GenericList(from.elementType());
    for (const IValue& element : from) list.push_back(to_meta(element));
    return list;
  }
  if (value.isDevice()) return c10::Device(c10::DeviceType::Meta);
  if (value.isGenerator()) return {};
  return value;
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// What the meta kernel returns; nothing if there is none or it raises.
std::optional<std::vector<IValue>> meta_results(const c10::OperatorHandle& op,
                                                const std::vector<IValue>& arguments) {
  if (!op.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta)) return {};
  try {
    torch::jit::Stack stack;
    for (const IValue& argument : arguments) stack.push_back(to_meta(argument));
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
    return stack;
  } catch (const std::exception&) {  // also of a meta kernel in Python
    return {};
  }
}

}  // namespace

std::optional<std::vector<IValue>> late_results(const c10::OperatorHandle& op,
                                                const std::vector<IValue>& arguments) {
  const c10::FunctionSchema& schema = op.schema();
  std::vector<IValue> written;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_written(schema.arguments()[i])) written.push_back(arguments[i]);
  }
  const auto& returns = schema.returns();
  const auto meta = meta_results(op, arguments);
  if (!meta) {
    // An operator that only writes into its arguments needs no meta kernel.
    if (op.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta) ||
        written.size() != returns.size())
      return {};
    return written;
  }
  std::vector<IValue> results;
  auto next = written.begin();
  for (std::size_t i = 0; i < returns.size(); ++i) {
    const IValue& result = (*meta)[i];
    if (!result.isTensor() || !result.toTensor().defined()) {
      results.push_back(result);
      continue;
    }
    const Tensor& shape = result.toTensor();
    if (!is_written(returns[i]) || next == written.end()) {
      results.emplace_back(strided_like(shape, c10::DeviceType::CPU).zero_());
      continue;
    }
    Tensor out = (next++)->toTensor();
    if (out.sizes() != shape.sizes()) out.resize_(shape.sizes());  // out= of another shape
    results.emplace_back(std::move(out));
  }
  return results;
}

}  // namespace torchport::vdev
