// What cuSOLVER says of matrices that LAPACK finds no fault with, and the other way round.
#pragma once

#include <ATen/core/stack.h>

namespace torchport::vdev {

// linalg_lu_factor_ex(A, *, pivot=True, check_errors), and its out= variant: a pivot that is NaN
// counts as one that is 0.
void lu_factor_of_nan(torch::jit::Stack* stack);
void lu_factor_of_nan_out(torch::jit::Stack* stack);

}  // namespace torchport::vdev
