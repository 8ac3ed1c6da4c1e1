// Implements the fused LSTM and GRU cells, which only CUDA has: the CPU's cells (LSTMCell and
// GRUCell in aten/src/ATen/native/RNN.cpp) in the same order of operations, so that the results
// equal the CPU's bit by bit.
#include <tuple>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include "runtime/virtual/operators/lstm_state.h"
#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// Completes a linear layer: the product is already computed, the bias is not added yet.
Tensor with_bias(const Tensor& product, const MaybeTensor& bias) {
  return has(bias) ? product + *bias : product.clone();
}

// (hy, cy, workspace): the workspace holds the four gates after their activations.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                             const Tensor& cx, const MaybeTensor& input_bias,
                                             const MaybeTensor& hidden_bias) {
  const Tensor gates =
      with_bias(hidden_gates, hidden_bias).add_(with_bias(input_gates, input_bias));
  const auto [hy, next_cx] = lstm_state(gates, cx);
  return {hy, next_cx, gates};
}

// (grad_gates, grad_cx, grad_bias)
std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const MaybeTensor& grad_hy,
                                                      const MaybeTensor& grad_cy, const Tensor& cx,
                                                      const Tensor& cy, const Tensor& workspace,
                                                      bool has_bias) {
  if (!has(grad_hy) && !has(grad_cy)) return {};
  const auto gates = workspace.unsafe_chunk(4, 1);
  const Tensor &input = gates[0], &forget = gates[1], &cell = gates[2], &output = gates[3];
  Tensor grad_cell_state = has(grad_cy) ? *grad_cy : Tensor();
  Tensor grad_output = at::zeros_like(output);
  if (has(grad_hy)) {
    const Tensor tanh_cy = cy.tanh();
    grad_output = at::sigmoid_backward(*grad_hy * tanh_cy, output);
    const Tensor through = at::tanh_backward(*grad_hy * output, tanh_cy);
    grad_cell_state = grad_cell_state.defined() ? grad_cell_state + through : through;
  }
  const Tensor grad_gates = at::cat({at::sigmoid_backward(grad_cell_state * cell, input),
                                     at::sigmoid_backward(grad_cell_state * cx, forget),
                                     at::tanh_backward(grad_cell_state * input, cell), grad_output},
                                    1);
  return {grad_gates, grad_cell_state * forget, has_bias ? grad_gates.sum(0, false) : Tensor()};
}

// Returns (hy, workspace). The workspace holds the three gates after their activations, hx, and the
// new gate's part of the hidden state before the reset.
std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                    const Tensor& hx, const MaybeTensor& input_bias,
                                    const MaybeTensor& hidden_bias) {
  const auto inputs = with_bias(input_gates, input_bias).unsafe_chunk(3, 1);
  const auto hiddens = with_bias(hidden_gates, hidden_bias).unsafe_chunk(3, 1);
  const Tensor reset = hiddens[0].add_(inputs[0]).sigmoid_();
  const Tensor update = hiddens[1].add_(inputs[1]).sigmoid_();
  const Tensor fresh = inputs[2].add(hiddens[2] * reset).tanh_();
  const Tensor hy = (hx - fresh).mul_(update).add_(fresh);
  return {hy, at::cat({reset, update, fresh, hx, hiddens[2]}, 1)};
}

// (grad_input_gates, grad_hidden_gates, grad_hx, grad_input_bias, grad_hidden_bias)
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy,
                                                                     const Tensor& workspace,
                                                                     bool has_bias) {
  const auto parts = workspace.unsafe_chunk(5, 1);
  const Tensor &reset = parts[0], &update = parts[1], &fresh = parts[2], &hx = parts[3],
               &hidden = parts[4];
  const Tensor grad_hx = grad_hy * update;
  const Tensor grad_update = at::sigmoid_backward(grad_hy * (hx - fresh), update);
  const Tensor grad_fresh = at::tanh_backward(grad_hy - grad_hx, fresh);
  const Tensor grad_reset = at::sigmoid_backward(grad_fresh * hidden, reset);
  const Tensor grad_input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  const Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_fresh * reset}, 1);
  return {grad_input, grad_hidden, grad_hx, has_bias ? grad_input.sum(0, false) : Tensor(),
          has_bias ? grad_hidden.sum(0, false) : Tensor()};
}

void put_rnn(torch::Library& aten) {
  aten.impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
  aten.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
  aten.impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
  aten.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
}

const OperatorGroup kRnn(&put_rnn);

}  // namespace

}  // namespace torchport::vdev
