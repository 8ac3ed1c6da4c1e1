#include "runtime/virtual/core/wider.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

namespace torchport::vdev {

namespace {

using at::ScalarType;
using c10::IValue;
using torch::jit::Stack;

std::optional<ScalarType> wider_than(ScalarType type) {
  switch (type) {
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return ScalarType::Float;
    case ScalarType::ComplexHalf:
      return ScalarType::ComplexFloat;
    case ScalarType::Bool:
      return ScalarType::Byte;
    case ScalarType::UInt16:
      return ScalarType::Int;
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e4m3fnuz:
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e5m2fnuz:
      return ScalarType::Float;
    default:
      return std::nullopt;
  }
}

// The first type of a call's tensors that is one of these.
std::optional<ScalarType> narrow_type(const IValue* arguments, std::size_t count, TypeSet types) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!arguments[i].isTensor() || !arguments[i].toTensor().defined()) continue;
    const ScalarType type = arguments[i].toTensor().scalar_type();
    if ((types & type_set(type)) != 0) return type;
  }
  return std::nullopt;
}

// The type that all floating-point tensors of a call have, if it is one of these.
std::optional<ScalarType> common_type(const Stack& stack, std::size_t first, TypeSet types) {
  std::optional<ScalarType> common;
  for (std::size_t i = first; i < stack.size(); ++i) {
    if (!stack[i].isTensor() || !stack[i].toTensor().defined()) continue;
    const ScalarType type = stack[i].toTensor().scalar_type();
    if (!at::isFloatingType(type) && !at::isComplexType(type)) continue;  // a mask
    if (common && *common != type) return std::nullopt;
    common = type;
  }
  return common && (types & type_set(*common)) != 0 ? common : std::nullopt;
}

bool any_sparse(const c10::SmallVectorImpl<IValue>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const IValue& value) {
    return value.isTensor() && value.toTensor().defined() &&
           value.toTensor().layout() != at::kStrided;
  });
}

// Whether a kernel of the CPU raised this because it does not implement a type.
bool refuses_type(const c10::Error& error) {
  const std::string_view text = error.what_without_backtrace();
  for (const std::string_view words :
       {"not implemented for '", "FFT doesn't support tensors of type"})
    if (text.find(words) != std::string_view::npos) return true;
  return false;
}

// The arguments of one call, widened; the same tensor stays one tensor.
class Widened {
 public:
  Widened(const c10::OperatorHandle& op, ScalarType narrow) : op_(op), narrow_(narrow) {}

  IValue argument(std::size_t index, const IValue& value) {
    const c10::Argument& argument = op_.schema().arguments()[index];
    const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    if (value.isTensor()) return tensor(value.toTensor(), written);
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const IValue& element : value.toListRef())
        list.push_back(tensor(element.toTensor(), written));
      return list;
    }
    if (value.isInt() && names_type(*argument.real_type())) {
      const auto type = wider_than(static_cast<ScalarType>(value.toInt()));
      if (type && static_cast<ScalarType>(value.toInt()) != ScalarType::Bool)
        return static_cast<std::int64_t>(*type);
    }
    return value;
  }

  // Rounds what the kernel wrote.
  void write_back() const {
    for (const Pair& pair : pairs_) {
      if (!pair.written) continue;
      if (pair.narrow.layout() != at::kStrided) {
        pair.narrow.resize_as_sparse_(pair.wide);
      } else if (pair.narrow.sizes() != pair.wide.sizes()) {
        pair.narrow.resize_(pair.wide.sizes());
      }
      pair.narrow.copy_(pair.wide);
    }
  }

  [[nodiscard]] IValue result(const IValue& value) const {
    if (value.isTensor()) return rounded(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const IValue& element : value.toListRef()) list.push_back(rounded(element.toTensor()));
      return list;
    }
    return value;
  }

 private:
  struct Pair {
    at::Tensor narrow;
    at::Tensor wide;
    bool written = false;
  };

  static bool names_type(const c10::Type& type) {
    if (type.kind() == c10::TypeKind::ScalarTypeType) return true;
    const auto* optional = type.castRaw<c10::OptionalType>();
    return optional != nullptr &&
           optional->getElementType()->kind() == c10::TypeKind::ScalarTypeType;
  }

  at::Tensor tensor(const at::Tensor& narrow, bool written) {
    if (!narrow.defined()) return narrow;
    const auto type = wider_than(narrow.scalar_type());
    if (!type || (narrow.scalar_type() == ScalarType::Bool && narrow_ != ScalarType::Bool)) {
      any_wide_ |= narrow.dim() > 0 && !written && at::isFloatingType(narrow.scalar_type());
      return narrow;
    }
    for (Pair& pair : pairs_) {
      if (!pair.narrow.is_same(narrow)) continue;
      pair.written |= written;
      return pair.wide;
    }
    pairs_.push_back({narrow, narrow.to(*type), written});
    return pairs_.back().wide;
  }

  [[nodiscard]] at::Tensor rounded(const at::Tensor& wide) const {
    if (!wide.defined()) return wide;
    for (const Pair& pair : pairs_)
      if (pair.wide.is_same(wide)) return pair.narrow;
    if (any_wide_) return wide;  // a real float32 among the arguments decides the type
    const bool half = narrow_ == ScalarType::Half || narrow_ == ScalarType::ComplexHalf;
    switch (wide.scalar_type()) {
      case ScalarType::Float:
        if (narrow_ == ScalarType::Bool || narrow_ == ScalarType::UInt16) return wide;
        return wide.to(half ? ScalarType::Half : narrow_);
      case ScalarType::Int:
        return narrow_ == ScalarType::UInt16 ? wide.to(narrow_) : wide;
      case ScalarType::ComplexFloat:
        return half ? wide.to(ScalarType::ComplexHalf) : wide;
      case ScalarType::Byte:
        return narrow_ == ScalarType::Bool ? wide.to(ScalarType::Bool) : wide;
      default:
        return wide;
    }
  }

  const c10::OperatorHandle& op_;
  ScalarType narrow_;
  c10::SmallVector<Pair, 4> pairs_;
  bool any_wide_ = false;
};

// Computes with widened arguments.
void widen(const c10::OperatorHandle& op, c10::DispatchKeySet cpu, ScalarType narrow,
           Stack* stack) {
  const std::size_t count = op.schema().arguments().size();
  const std::size_t first = stack->size() - count;
  Widened widened(op, narrow);
  for (std::size_t i = 0; i < count; ++i)
    (*stack)[first + i] = widened.argument(i, (*stack)[first + i]);
  op.redispatchBoxed(cpu, stack);
  widened.write_back();
  for (std::size_t i = first; i < stack->size(); ++i) (*stack)[i] = widened.result((*stack)[i]);
}

}  // namespace

void WiderKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet cpu,
                             Stack* stack) const {
  const std::size_t first = stack->size() - op.schema().arguments().size();
  if (slow_ != 0) {
    if (const auto type = common_type(*stack, first, slow_)) {
      widen(op, cpu, *type, stack);
      return;
    }
  }
  const auto narrow = types_ == 0
                          ? std::nullopt
                          : narrow_type(stack->data() + first, stack->size() - first, types_);
  if (!narrow) {
    op.redispatchBoxed(cpu, stack);
    return;
  }
  const c10::SmallVector<IValue, 8> kept(stack->begin() + static_cast<std::ptrdiff_t>(first),
                                         stack->end());
  // A kernel that refuses a type has resized some parts of a sparse result before.
  if ((refused_.load(std::memory_order_relaxed) & type_set(*narrow)) == 0 && !any_sparse(kept)) {
    try {
      op.redispatchBoxed(cpu, stack);
      return;
    } catch (const c10::Error& error) {
      if (!refuses_type(error)) throw;
    }
    stack->resize(first);
    stack->insert(stack->end(), kept.begin(), kept.end());
  }
  widen(op, cpu, *narrow, stack);
  refused_.fetch_or(type_set(*narrow), std::memory_order_relaxed);
}

bool WiderKernel::may_widen(const IValue* arguments, std::size_t count) const {
  return (types_ | slow_) != 0 && narrow_type(arguments, count, types_ | slow_).has_value();
}

}  // namespace torchport::vdev
