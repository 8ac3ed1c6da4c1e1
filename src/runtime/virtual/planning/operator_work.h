// How many operations of arithmetic an operator takes.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>
#include <c10/core/ScalarType.h>

namespace torchport::vdev {

// What multiplies matrices: operations, a multiplication and an addition being two, of numbers of
// `type`. `may_use_tf32`: the program lets float32 be rounded to TF32 in it.
struct Arithmetic {
  double operations = 0;
  c10::ScalarType type = c10::ScalarType::Float;
  bool may_use_tf32 = false;
};

using ArithmeticOf = Arithmetic (*)(const c10::IValue* arguments, const c10::IValue* results);

// The arithmetic of an operator that multiplies matrices; null for others, whose time is that of
// their memory.
[[nodiscard]] ArithmeticOf arithmetic_of(const c10::OperatorName& name);

}  // namespace torchport::vdev
