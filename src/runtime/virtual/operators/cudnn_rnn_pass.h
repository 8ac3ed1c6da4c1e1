// The forward pass of a recurrent layer, kept for its backward pass.
//
// cuDNN puts what the backward pass needs into the reserve. Here that is a graph of autograd over
// the CPU's tensors, which lives as long as the bytes of the reserve.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace torchport::vdev {

// Tensors of the CPU: the leaves of a graph and its results.
struct RnnPass {
  at::Tensor input;
  std::vector<at::Tensor> states;
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> results;  // the output, then the states
};

// Keeps a pass as long as the memory of `reserve`, a uint8 tensor of the CPU, whose last eight
// bytes name it. REQUIRED to be the first for this memory.
void keep_pass(const at::Tensor& reserve, RnnPass pass);

// The pass that a reserve names; null if it has none, or the bytes came from another reserve (a
// graph that is replayed copies them).
[[nodiscard]] const RnnPass* pass_of(const at::Tensor& reserve);

}  // namespace torchport::vdev
