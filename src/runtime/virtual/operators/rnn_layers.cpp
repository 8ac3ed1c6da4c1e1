// Implements recurrent layers in the CPU's order of operations: the inputs of all steps are
// multiplied at once, and LSTMs run in oneDNN. PyTorch's own composites go step by step for tensors
// that are not on the CPU, which differs in the last bits and takes twice the time. A real device
// runs the whole layer in one kernel (cuDNN).
//
// Calls that are not covered here (autocast, symbolic shapes, wrong arguments) go to PyTorch's
// composites (aten/src/ATen/native/RNN.cpp).
#include <algorithm>
#include <vector>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mkldnn_rnn_layer.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/lstm_state.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using at::TensorList;

enum class Cell : std::uint8_t { kLstm, kGru, kTanh, kRelu };

// The hidden state of one direction of one layer: h, and for an LSTM c.
using Hidden = std::vector<Tensor>;

struct Weights {
  Tensor ih, hh, ih_bias, hh_bias, hr;  // biases and hr (the projection) may be undefined
};

// The arguments of a layer's call, except its tensors.
struct Layout {
  bool has_biases;
  std::int64_t layers;
  double dropout;
  bool train;
  bool bidirectional;

  [[nodiscard]] std::int64_t directions() const { return bidirectional ? 2 : 1; }
};

// A sequence in the form of torch.nn.utils.rnn.PackedSequence. The sizes are empty for a padded
// one.
struct Sequence {
  Tensor data;  // padded: (steps, batch, features); packed: (sum of sizes, features)
  std::vector<std::int64_t> sizes;
};

bool is_covered(const Tensor& input, TensorList hidden, TensorList params, std::int64_t each,
                const Layout& layout) {
  const auto type = input.scalar_type();
  const auto symbolic = [](const Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  };
  return (type == at::kFloat || type == at::kDouble || type == at::kHalf ||
          type == at::kBFloat16) &&
         !at::autocast::is_autocast_enabled(input.device().type()) && !symbolic(input) &&
         static_cast<std::int64_t>(params.size()) == each * layout.layers * layout.directions() &&
         std::all_of(hidden.begin(), hidden.end(), [&](const Tensor& state) {
           return state.dim() == 3 && !symbolic(state) &&
                  state.size(0) == layout.layers * layout.directions();
         });
}

// Raises with the messages of aten/src/ATen/native/RNN.h, which cuDNN's layers use, too.
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

struct Run {
  Tensor output;
  Hidden hidden;
};

Run run_padded(Cell cell, const Tensor& input, Hidden hidden, const Weights& weights,
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
Run run_packed(Cell cell, const Sequence& input, const Hidden& first, const Weights& weights) {
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
Run run_packed_reversed(Cell cell, const Sequence& input, const Hidden& first,
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

Run run_onednn(const Tensor& input, const Hidden& hidden, const Weights& weights, bool reverse,
               const Layout& layout) {
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

Run run_direction(Cell cell, const Sequence& input, const Hidden& hidden, const Weights& weights,
                  bool reverse, bool onednn, const Layout& layout) {
  if (onednn) return run_onednn(input.data, hidden, weights, reverse, layout);
  if (input.sizes.empty()) return run_padded(cell, input.data, hidden, weights, reverse);
  return reverse ? run_packed_reversed(cell, input, hidden, weights)
                 : run_packed(cell, input, hidden, weights);
}

// Runs all layers; their hidden states are stacked.
Run run_layers(Cell cell, Sequence input, TensorList hidden, TensorList params,
               const Layout& layout) {
  check_alike(input.data, hidden, params);
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
      Run run = run_direction(cell, input, first, weights[static_cast<std::size_t>(index)],
                              direction > 0, onednn, layout);
      outputs.push_back(std::move(run.output));
      for (std::size_t i = 0; i < last.size(); ++i) last[i].push_back(std::move(run.hidden[i]));
    }
    input.data = outputs.size() == 1 ? outputs.front() : at::cat(outputs, -1);
    if (layout.dropout != 0 && layout.train && layer + 1 < layout.layers)
      input.data = at::dropout(input.data, layout.dropout, true);
  }
  Hidden stacked;
  for (const auto& states : last) stacked.push_back(at::stack(states, 0));
  return {input.data, std::move(stacked)};
}

Sequence padded(const Tensor& input, bool batch_first) {
  return {batch_first ? input.transpose(0, 1) : input, {}};
}

Sequence packed(const Tensor& data, const Tensor& batch_sizes) {
  const auto* sizes = batch_sizes.const_data_ptr<std::int64_t>();
  return {data, {sizes, sizes + batch_sizes.numel()}};
}

Tensor ordered(const Tensor& output, bool batch_first) {
  return batch_first ? output.transpose(0, 1) : output;
}

std::int64_t params_each(bool has_biases, TensorList hidden) {
  const bool projected = hidden.size() == 2 && hidden[0].dim() == 3 && hidden[1].dim() == 3 &&
                         hidden[0].sym_size(2) != hidden[1].sym_size(2);
  return (has_biases ? 4 : 2) + (projected ? 1 : 0);
}

std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, TensorList hx, TensorList params,
                                              bool has_biases, std::int64_t layers, double dropout,
                                              bool train, bool bidirectional, bool batch_first) {
  const Layout layout{has_biases, layers, dropout, train, bidirectional};
  if (hx.size() != 2 || input.dim() != 3 ||
      !is_covered(input, hx, params, params_each(has_biases, hx), layout))
    return at::native::lstm(input, hx, params, has_biases, layers, dropout, train, bidirectional,
                            batch_first);
  Run run = run_layers(Cell::kLstm, padded(input, batch_first), hx, params, layout);
  return {ordered(run.output, batch_first), run.hidden[0], run.hidden[1]};
}

std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes,
                                             TensorList hx, TensorList params, bool has_biases,
                                             std::int64_t layers, double dropout, bool train,
                                             bool bidirectional) {
  const Layout layout{has_biases, layers, dropout, train, bidirectional};
  if (hx.size() != 2 || batch_sizes.numel() == 0 ||
      !is_covered(data, hx, params, params_each(has_biases, hx), layout))
    return at::native::lstm(data, batch_sizes, hx, params, has_biases, layers, dropout, train,
                            bidirectional);
  Run run = run_layers(Cell::kLstm, packed(data, batch_sizes), hx, params, layout);
  return {run.output, run.hidden[0], run.hidden[1]};
}

using Padded = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, TensorList, bool,
                                              std::int64_t, double, bool, bool, bool);
using Packed = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, const Tensor&,
                                              TensorList, bool, std::int64_t, double, bool, bool);

template <Cell kCell, Padded kComposite>
std::tuple<Tensor, Tensor> one_input(const Tensor& input, const Tensor& hx, TensorList params,
                                     bool has_biases, std::int64_t layers, double dropout,
                                     bool train, bool bidirectional, bool batch_first) {
  const Layout layout{has_biases, layers, dropout, train, bidirectional};
  if (input.dim() != 3 || !is_covered(input, hx, params, has_biases ? 4 : 2, layout))
    return kComposite(input, hx, params, has_biases, layers, dropout, train, bidirectional,
                      batch_first);
  Run run = run_layers(kCell, padded(input, batch_first), hx, params, layout);
  return {ordered(run.output, batch_first), run.hidden[0]};
}

template <Cell kCell, Packed kComposite>
std::tuple<Tensor, Tensor> one_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                    TensorList params, bool has_biases, std::int64_t layers,
                                    double dropout, bool train, bool bidirectional) {
  const Layout layout{has_biases, layers, dropout, train, bidirectional};
  if (batch_sizes.numel() == 0 || !is_covered(data, hx, params, has_biases ? 4 : 2, layout))
    return kComposite(data, batch_sizes, hx, params, has_biases, layers, dropout, train,
                      bidirectional);
  Run run = run_layers(kCell, packed(data, batch_sizes), hx, params, layout);
  return {run.output, run.hidden[0]};
}

void put_rnn_layers(torch::Library& aten) {
  aten.impl("lstm.input", TORCH_FN(lstm_input));
  aten.impl("lstm.data", TORCH_FN(lstm_data));
  aten.impl("gru.input", TORCH_FN((one_input<Cell::kGru, &at::native::gru>)));
  aten.impl("gru.data", TORCH_FN((one_data<Cell::kGru, &at::native::gru>)));
  aten.impl("rnn_tanh.input", TORCH_FN((one_input<Cell::kTanh, &at::native::rnn_tanh>)));
  aten.impl("rnn_tanh.data", TORCH_FN((one_data<Cell::kTanh, &at::native::rnn_tanh>)));
  aten.impl("rnn_relu.input", TORCH_FN((one_input<Cell::kRelu, &at::native::rnn_relu>)));
  aten.impl("rnn_relu.data", TORCH_FN((one_data<Cell::kRelu, &at::native::rnn_relu>)));
}

const OperatorGroup kRnnLayers(&put_rnn_layers, {&KindKeys::dense, &KindKeys::autograd});

}  // namespace

}  // namespace torchport::vdev
