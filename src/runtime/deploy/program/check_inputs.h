// Compares the tensors of a call with what a program was exported for.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/deploy/program/graph.h"

namespace torchport::deploy {

// Throws std::invalid_argument for another number of tensors, another dtype, a size that differs
// from a fixed one, one symbol with two sizes, and a size beyond its range. Sizes that are formulas
// are not checked.
void check_inputs(const ProgramGraph& program, const std::vector<at::Tensor>& given);

}  // namespace torchport::deploy
