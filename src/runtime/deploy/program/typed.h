// Gives operands the types that a schema asks for, as Python's argument parser does.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include "runtime/deploy/program/graph.h"

namespace torchport::deploy {

using Values = std::vector<c10::IValue>;  // of a graph, by slot

// The operand's value in the type of the argument. A number becomes a tensor or a list of numbers
// where the argument wants one, a list gets the type of its items. A device of the kind of `device`
// becomes `device`. Throws std::runtime_error if the type cannot be made.
[[nodiscard]] c10::IValue typed(const Operand& operand, const c10::Argument& argument,
                                const Values& values, c10::Device device);

// The operand's value without a type; lists are generic. For higher-order operators, which have no
// schema. Throws std::runtime_error for a graph.
[[nodiscard]] c10::IValue untyped(const Operand& operand, const Values& values);

// Whether the operand has the same value in each run.
[[nodiscard]] bool is_constant(const Operand& operand);

// Calls `visit` with each slot that the operand reads.
template <typename Visit>
void visit_slots(const Operand& operand, const Visit& visit) {
  if (operand.kind == Operand::Kind::kValue) visit(operand.slot);
  for (const Operand& item : operand.items) visit_slots(item, visit);
}

}  // namespace torchport::deploy
