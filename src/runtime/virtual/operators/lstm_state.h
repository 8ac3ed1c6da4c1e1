// Computes the end of an LSTM's step in the CPU's order of operations (LSTMCell in
// aten/src/ATen/native/RNN.cpp), so that the results equal the CPU's bit by bit. The fused cell and
// the layers share it.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

namespace torchport::vdev {

struct LstmState {
  at::Tensor h;
  at::Tensor c;
};

// `gates` is (batch, 4 * hidden): the sums of both products and biases. Their activations replace
// them in place. `c` is (batch, hidden).
inline LstmState lstm_state(const at::Tensor& gates, const at::Tensor& c) {
  const auto chunks = gates.unsafe_chunk(4, 1);
  const at::Tensor input = chunks[0].sigmoid_();
  const at::Tensor forget = chunks[1].sigmoid_();
  const at::Tensor cell = chunks[2].tanh_();
  const at::Tensor output = chunks[3].sigmoid_();
  const at::Tensor next = (forget * c).add_(input * cell);
  return {output * next.tanh(), next};
}

}  // namespace torchport::vdev
