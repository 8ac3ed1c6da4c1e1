#include "runtime/virtual/operators/recurrent.h"

#include <algorithm>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mkldnn_rnn_layer.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "runtime/virtual/operators/lstm_state.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using at::TensorList;

// The hidden state of one direction of one layer: h, and for an LSTM c.
using Hidden = std::vector<Tensor>;

struct Weights {
  Tensor ih, hh, ih_bias, hh_bias, hr;  // biases and hr (the projection) may be undefined
};

std::vector<Weights> gather(TensorList params, bool has_biases, bool projected) {
  std::vector<Weights> all;
  std::size_t next = 0;
  while (next < params.size()) {
    Weights weights{params[next], params[next + 1], {}, {}, {}};
    next += 2;
    if (has_biases) {
      weights.ih_bias = params[next];
      weights.hh_bias = params[next + 1];
      next += 2;
    }
    if (projected) weights.hr = params[next++];
    all.push_back(std::move(weights));
  }
  return all;
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return at::linear(input, weight, bias.defined() ? std::optional<Tensor>(bias) : std::nullopt);
}

Hidden lstm_step(const Tensor& inputs, const Hidden& hidden, const Weights& weights) {
  const auto [h, c] =
      lstm_state(linear(hidden[0], weights.hh, weights.hh_bias).add_(inputs), hidden[1]);
  return {weights.hr.defined() ? at::matmul(h, weights.hr.t()) : h, c};
}

Hidden gru_step(const Tensor& inputs, const Hidden& hidden, const Weights& weights) {
  const auto from_input = inputs.unsafe_chunk(3, 1);
  const auto from_hidden = linear(hidden[0], weights.hh, weights.hh_bias).unsafe_chunk(3, 1);
  const Tensor reset = from_hidden[0].add_(from_input[0]).sigmoid_();
  const Tensor update = from_hidden[1].add_(from_input[1]).sigmoid_();
  const Tensor fresh = from_input[2].add(from_hidden[2].mul_(reset)).tanh_();
  return {(hidden[0] - fresh).mul_(update).add_(fresh)};
}

// `inputs` is one step's input after its weights and bias.
Hidden step(Cell cell, const Tensor& inputs, const Hidden& hidden, const Weights& weights) {
  if (cell == Cell::kLstm) return lstm_step(inputs, hidden, weights);
  if (cell == Cell::kGru) return gru_step(inputs, hidden, weights);
  const Tensor sum = linear(hidden[0], weights.hh, weights.hh_bias).add_(inputs);
  return {cell == Cell::kTanh ? at::tanh(sum) : at::relu(sum)};
}

Hidden rows(const Hidden& hidden, std::int64_t from, std::int64_t to) {
  Hidden part;
  for (const Tensor& state : hidden) part.push_back(state.narrow(0, from, to - from));
  return part;
}

Hidden joined(const std::vector<Hidden>& parts) {
  Hidden whole;
  for (std::size_t i = 0; i < parts.front().size(); ++i) {
    std::vector<Tensor> states;
    for (const Hidden& part : parts) states.push_back(part[i]);
    whole.push_back(at::cat(states, 0));
  }
  return whole;
}

Recurrent run_padded(Cell cell, const Tensor& input, Hidden hidden, const Weights& weights,
                     bool reverse) {
  std::vector<Tensor> steps = linear(input, weights.ih, weights.ih_bias).unbind(0);
  if (reverse) std::reverse(steps.begin(), steps.end());
  std::vector<Tensor> outputs;
  for (const Tensor& inputs : steps) {
    hidden = step(cell, inputs, hidden, weights);
    outputs.push_back(hidden[0]);
  }
  TORCH_CHECK(!outputs.empty(), "Expected sequence length to be larger than 0 in RNN");
  if (reverse) std::reverse(outputs.begin(), outputs.end());
  return {at::stack(outputs, 0), std::move(hidden)};
}

// Batch sizes decrease from step to step: sequences that end leave at the end of the batch.
Recurrent run_packed(Cell cell, const Sequence& input, const Hidden& first,
                     const Weights& weights) {
  const Tensor inputs = linear(input.data, weights.ih, weights.ih_bias);
  Hidden hidden = first;
  std::vector<Tensor> outputs;
  std::vector<Hidden> ended;
  std::int64_t at = 0;
  std::int64_t last = input.sizes.front();
  for (const std::int64_t size : input.sizes) {
    if (size < last) {
      ended.push_back(rows(hidden, size, last));
      hidden = rows(hidden, 0, size);
    }
    last = size;
    hidden = step(cell, inputs.narrow(0, at, size), hidden, weights);
    outputs.push_back(hidden[0]);
    at += size;
  }
  ended.push_back(hidden);
  std::reverse(ended.begin(), ended.end());
  return {at::cat(outputs, 0), joined(ended)};
}

// Goes backward from the last step: longer sequences come first, and shorter ones join later.
Recurrent run_packed_reversed(Cell cell, const Sequence& input, const Hidden& first,
                              const Weights& weights) {
  const Tensor inputs = linear(input.data, weights.ih, weights.ih_bias);
  std::int64_t last = input.sizes.back();
  Hidden hidden = rows(first, 0, last);
  std::vector<Tensor> outputs;
  std::int64_t end = inputs.size(0);
  for (auto size = input.sizes.rbegin(); size != input.sizes.rend(); ++size) {
    if (*size > last) hidden = joined({hidden, rows(first, last, *size)});
    last = *size;
    hidden = step(cell, inputs.narrow(0, end - *size, *size), hidden, weights);
    outputs.push_back(hidden[0]);
    end -= *size;
  }
  std::reverse(outputs.begin(), outputs.end());
  return {at::cat(outputs, 0), std::move(hidden)};
}

// Asks PyTorch whether this processor has what oneDNN needs for a type.
bool answer_of(const char* question) {
  const auto op = c10::Dispatcher::singleton().findSchema({question, ""});
  if (!op) return false;
  torch::jit::Stack stack;
  op->callBoxed(stack);
  return stack.back().toBool();
}

// As use_mkldnn() in RNN.cpp decides for CPU tensors.
bool has_onednn(at::ScalarType type) {
  static const bool kBFloat16 = answer_of("mkldnn::_is_mkldnn_bf16_supported");
  static const bool kHalf = answer_of("mkldnn::_is_mkldnn_fp16_supported");
  if (!at::globalContext().userEnabledMkldnn()) return false;
  return type == at::kFloat || (type == at::kBFloat16 && kBFloat16) ||
         (type == at::kHalf && kHalf && !at::GradMode::is_enabled());
}

bool runs_in_onednn(Cell cell, const Sequence& input, bool projected) {
  return cell == Cell::kLstm && input.sizes.empty() && !projected && input.data.numel() != 0 &&
         has_onednn(input.data.scalar_type());
}

Recurrent run_onednn(const Tensor& input, const Hidden& hidden, const Weights& weights,
                     bool reverse, const RecurrentLayout& layout) {
  constexpr std::int64_t kLstmMode = 2;  // ideep::rnn_kind::LSTM
  const auto bias = [](const Tensor& given, const Tensor& weight) {
    return given.defined() ? given : at::zeros(weight.sizes(), weight.options());
  };
  auto [output, h, c, workspace] =
      at::mkldnn_rnn_layer(input, weights.ih, weights.hh, bias(weights.ih_bias, weights.ih),
                           bias(weights.hh_bias, weights.hh), hidden[0], hidden[1], reverse, {},
                           kLstmMode, hidden[0].size(1), layout.layers, layout.has_biases,
                           layout.bidirectional, false, layout.train);
  return {output, {h, c}};
}

Recurrent run_direction(Cell cell, const Sequence& input, const Hidden& hidden,
                        const Weights& weights, bool reverse, bool onednn,
                        const RecurrentLayout& layout) {
  if (onednn) return run_onednn(input.data, hidden, weights, reverse, layout);
  if (input.sizes.empty()) return run_padded(cell, input.data, hidden, weights, reverse);
  return reverse ? run_packed_reversed(cell, input, hidden, weights)
                 : run_packed(cell, input, hidden, weights);
}

}  // namespace

void check_alike(const Tensor& input, TensorList hidden, TensorList params) {
  const auto check = [&](const char* what, const Tensor& tensor) {
    if (!tensor.defined()) return;
    TORCH_CHECK(input.device() == tensor.device(), "Input and ", what,
                " tensors are not at the same device, found input tensor at ", input.device(),
                " and ", what, " tensor at ", tensor.device());
    TORCH_CHECK(input.scalar_type() == tensor.scalar_type(), "Input and ", what,
                " tensors are not the same dtype, found input tensor with ", input.scalar_type(),
                " and ", what, " tensor with ", tensor.scalar_type());
  };
  for (const Tensor& state : hidden) check("hidden", state);
  for (const Tensor& param : params) check("parameter", param);
}

Recurrent run_recurrent(Cell cell, Sequence input, TensorList hidden, TensorList params,
                        const RecurrentLayout& layout, const DropAfter& drop) {
  const bool projected = cell == Cell::kLstm && hidden[0].size(2) != hidden[1].size(2);
  const bool onednn = runs_in_onednn(cell, input, projected);
  const std::vector<Weights> weights = gather(params, layout.has_biases, projected);
  std::vector<std::vector<Tensor>> last(hidden.size());
  if (onednn) input.data = input.data.contiguous();
  for (std::int64_t layer = 0; layer < layout.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (std::int64_t direction = 0; direction < layout.directions(); ++direction) {
      const std::int64_t index = layer * layout.directions() + direction;
      Hidden first;
      for (const Tensor& state : hidden)
        first.push_back((onednn ? state.contiguous() : state).select(0, index));
      Recurrent run = run_direction(cell, input, first, weights[static_cast<std::size_t>(index)],
                                    direction > 0, onednn, layout);
      outputs.push_back(std::move(run.output));
      for (std::size_t i = 0; i < last.size(); ++i) last[i].push_back(std::move(run.hidden[i]));
    }
    input.data = outputs.size() == 1 ? outputs.front() : at::cat(outputs, -1);
    if (layout.drops() && layer + 1 < layout.layers) input.data = drop(input.data, layer);
  }
  Hidden stacked;
  for (const auto& states : last) stacked.push_back(at::stack(states, 0));
  return {input.data, std::move(stacked)};
}

}  // namespace torchport::vdev
