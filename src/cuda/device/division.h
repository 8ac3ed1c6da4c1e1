// Divisions of integers that the host's processor refuses.
#pragma once

#include <ucontext.h>

namespace torchport::cuda {

// Finishes the division that a thread stopped at as a GPU does: by zero all bits of the result are
// set (as PyTorch's own tests have it for CUDA: of 64 bits the low 32, where a dividend that is not
// negative fits them), and the smallest integer divided by -1 is itself. False if it is no
// division.
bool finish_division(ucontext_t& context);

}  // namespace torchport::cuda
