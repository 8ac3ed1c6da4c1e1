#include "runtime/deploy/program/typed.h"

#include <algorithm>
#include <stdexcept>

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>

namespace torchport::deploy {

namespace {

using c10::IValue;
using c10::TypeKind;

class Typer {
 public:
  Typer(const Values& values, c10::Device device) : values_(values), device_(device) {}

  IValue operator()(const Operand& operand, const c10::Type& type, std::optional<int> repeat) {
    if (const auto* optional = type.castRaw<c10::OptionalType>()) {
      if (is_none(operand)) return {};
      return (*this)(operand, *optional->getElementType(), repeat);
    }
    if (const auto* of = type.castRaw<c10::ListType>()) return list(operand, *of, repeat);
    return single(untyped(operand, values_), type);
  }

 private:
  bool is_none(const Operand& operand) const {
    if (operand.kind == Operand::Kind::kConstant) return operand.constant.isNone();
    return operand.kind == Operand::Kind::kValue && values_.at(operand.slot).isNone();
  }

  // torch/csrc/utils/python_arg_parser.cpp: an argument of type Tensor takes a number.
  IValue single(IValue value, const c10::Type& type) const {
    switch (type.kind()) {
      case TypeKind::TensorType:
        if (!value.isScalar() && !value.isBool()) return value;
        return number(value.toScalar());
      case TypeKind::FloatType:
        if (value.isInt()) return static_cast<double>(value.toInt());
        return value;
      case TypeKind::DeviceObjType:
        if (value.isDevice() && value.toDevice().type() == device_.type()) return device_;
        return value;
      default:
        return value;
    }
  }

  static IValue number(const c10::Scalar& scalar) {
    at::Tensor tensor = c10::scalar_to_tensor(scalar);
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
  }

  IValue list(const Operand& operand, const c10::ListType& type, std::optional<int> repeat) {
    const c10::TypePtr& item = type.getElementType();
    c10::impl::GenericList generic(item);
    const auto add = [&](const Operand& one) {
      generic.push_back((*this)(one, *item, std::nullopt));
    };
    if (operand.kind == Operand::Kind::kList) {
      for (const Operand& one : operand.items) add(one);
      return with_type(generic, *item);
    }
    IValue whole = untyped(operand, values_);
    if (whole.isList()) return whole;
    // `int[2] stride` takes one number for both.
    for (int i = 0; i < std::max(repeat.value_or(1), 1); ++i) add(operand);
    return with_type(generic, *item);
  }

  // The dispatcher's kernels expect lists of their C++ types.
  static IValue with_type(const c10::impl::GenericList& generic, const c10::Type& item) {
    switch (item.kind()) {
      case TypeKind::TensorType:
        return c10::impl::toTypedList<at::Tensor>(generic);
      case TypeKind::IntType:
        return c10::impl::toTypedList<std::int64_t>(generic);
      case TypeKind::FloatType:
        return c10::impl::toTypedList<double>(generic);
      case TypeKind::BoolType:
        return c10::impl::toTypedList<bool>(generic);
      default:
        return generic;
    }
  }

  const Values& values_;
  c10::Device device_;
};

}  // namespace

bool is_constant(const Operand& operand) {
  return operand.kind != Operand::Kind::kValue && operand.kind != Operand::Kind::kGraph &&
         std::all_of(operand.items.begin(), operand.items.end(), is_constant);
}

IValue untyped(const Operand& operand, const Values& values) {
  switch (operand.kind) {
    case Operand::Kind::kConstant:
      return operand.constant;
    case Operand::Kind::kValue:
      return values.at(operand.slot);
    case Operand::Kind::kList: {
      c10::impl::GenericList list(c10::AnyType::get());
      for (const Operand& item : operand.items) list.push_back(untyped(item, values));
      return list;
    }
    case Operand::Kind::kGraph:
      break;
  }
  throw std::runtime_error("a graph where a value belongs");
}

IValue typed(const Operand& operand, const c10::Argument& argument, const Values& values,
             c10::Device device) {
  return Typer(values, device)(operand, *argument.type(), argument.N());
}

}  // namespace torchport::deploy
