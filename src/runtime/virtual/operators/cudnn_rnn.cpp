// Implements cuDNN's operators of recurrent layers: aten/src/ATen/native/cudnn/RNN.cpp says what
// they check, allocate and return. They compute what the CPU's layers compute.
//
// The forward pass of training records a graph of autograd over the CPU's tensors, which the
// backward pass takes from the reserve. If it is not there, the backward pass runs the layer again;
// which elements dropout kept is in the reserve, too. A layer that lacks values is not computed:
// its results and what it works in take their memory.
#include "runtime/virtual/operators/cudnn_rnn.h"

#include <array>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/TensorUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/operators/cudnn_rnn_call.h"
#include "runtime/virtual/operators/cudnn_rnn_dropout.h"
#include "runtime/virtual/operators/cudnn_rnn_pass.h"
#include "runtime/virtual/operators/graph_in_kernel.h"
#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/without_data/meta_aliases.h"

namespace torchport::vdev {

namespace {

// NOLINTBEGIN(readability-function-size, performance-unnecessary-value-param): the signatures are
// those of ATen's operators.

using at::Tensor;
using at::TensorList;
using RnnForward = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;
using RnnBackward = std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>>;

constexpr std::size_t kBias = 2;  // among the parts of a layer and direction

std::vector<Tensor> states_of(const Tensor& hx, const Tensor& cx) {
  return cx.defined() ? std::vector<Tensor>{hx, cx} : std::vector<Tensor>{hx};
}

// The CPU's tensors of a call.
struct RnnOnHost {
  Tensor input;  // steps first
  std::vector<Tensor> states;
  std::vector<Tensor> weights;
};

// The weights in the buffer as run_recurrent() takes them.
std::vector<Tensor> matrices_in(const Tensor& buffer, const RnnCall& call) {
  std::vector<Tensor> matrices;
  for (const auto& parts : weight_parts(call.rnn)) {
    const std::int64_t rows = parts[kBias].elements;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool bias = i == kBias || i == kBias + 1;
      if (bias && !call.layout.has_biases) continue;
      const Tensor part = buffer.narrow(0, parts[i].offset, parts[i].elements);
      if (bias)
        matrices.push_back(part);
      else
        matrices.push_back(part.view({i < kBias ? rows : call.rnn.projected, -1}));
    }
  }
  return matrices;
}

RnnOnHost on_host(Aliases& aliases, const Tensor& input, const std::vector<Tensor>& states,
                  const Tensor& buffer, const RnnCall& call) {
  RnnOnHost host;
  host.input = aliases.of(input, Aliases::Use::kReads);
  for (const Tensor& state : states) host.states.push_back(aliases.of(state, Aliases::Use::kReads));
  host.weights = matrices_in(aliases.of(buffer, Aliases::Use::kReads), call);
  return host;
}

Recurrent run_on_host(const RnnCall& call, const RnnOnHost& host, const DropAfter& drop) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return run_recurrent(call.rnn.cell, {host.input, call.packed}, host.states, host.weights,
                       call.layout, drop);
}

// Runs a layer on leaves of a graph of their own.
template <typename Drop>
RnnPass recorded_pass(const RnnCall& call, const RnnOnHost& host, const Drop& drop) {
  const GraphInKernel graph;
  const auto leaf = [](const Tensor& tensor) { return tensor.detach().requires_grad_(); };
  RnnPass pass{leaf(host.input), {}, {}, {}};
  for (const Tensor& state : host.states) pass.states.push_back(leaf(state));
  for (const Tensor& weight : host.weights) pass.weights.push_back(leaf(weight));
  const Recurrent run = run_on_host(call, {pass.input, pass.states, pass.weights}, drop);
  pass.results = {run.output, run.hidden[0]};
  if (run.hidden.size() > 1) pass.results.push_back(run.hidden[1]);
  return pass;
}

RnnForward rnn_forward(const Tensor& input, TensorList weights, std::int64_t each,
                       const MaybeTensor& given_buffer, const Tensor& hx,
                       const MaybeTensor& maybe_cx, std::int64_t mode, c10::SymInt hidden,
                       c10::SymInt projected, std::int64_t layers, bool batch_first, double dropout,
                       bool train, bool bidirectional, c10::SymIntArrayRef batch_sizes,
                       const MaybeTensor& dropout_state) {
  const Tensor cx = maybe_cx.value_or(Tensor());
  check_alike(input, {hx, cx}, weights);
  Tensor buffer = given_buffer.value_or(Tensor());
  if (!buffer.defined()) {
    TORCH_WARN(
        "RNN module weights are not part of single contiguous chunk of memory. This means they "
        "need to be compacted at every call, possibly greatly increasing memory usage. To compact "
        "weights again call flatten_parameters().");
  }
  constexpr int kPlaceOfState = 15;
  if (has(dropout_state))
    at::checkSameGPU("cudnn_rnn", {input, "input", 1},
                     {*dropout_state, "dropout_states", kPlaceOfState});
  const RnnCall call = rnn_call(input, each, mode, hidden, projected, layers, batch_first, dropout,
                                train, bidirectional, batch_sizes);
  check_states(call, hx, cx);
  const Tensor x = call.steps_first(input).contiguous();
  Tensor output = at::empty(call.output_size(input), input.options());
  Tensor hy = at::empty(call.hidden_size(), hx.options());
  Tensor cy =
      cx.defined() ? at::empty(call.cell_size(), cx.options()) : at::empty({0}, hx.options());
  if (!buffer.defined()) {
    constexpr std::int64_t kWithBiases = 4;
    buffer = at::zeros({elements_of_weights(call.rnn)}, x.options());
    copy_weights(weights, each, views_of_weights(buffer, call.rnn, true),
                 call.rnn.projected == 0 ? kWithBiases : kWithBiases + 1);
  }
  check_size("cell", cx, call.cell_size());
  const Tensor workspace = call.workspace(x);
  const std::int64_t bytes =
      train ? reserve_bytes(call.rnn, call.steps, call.batch, std::int64_t(x.element_size())) : 0;
  const Tensor reserve = at::empty({bytes}, input.options().dtype(at::kByte));
  if (lack_data({x, hx, cx, buffer})) {
    make_up({output, hy, cy, reserve});
    if (call.is_transposed()) output.transpose_(0, 1);
    return {output, hy, cy, reserve, buffer};
  }
  Aliases aliases;
  RnnOnHost host = on_host(aliases, x, states_of(hx, cx), buffer, call);
  RnnDropout drop(call.layout, input.device().index(),
                  has(dropout_state) ? aliases.of(*dropout_state) : Tensor(), aliases.of(reserve));
  const auto draw = [&](const Tensor& of_layer, std::int64_t layer) {
    return drop.draw(of_layer, layer);
  };
  std::vector<Tensor> found;
  if (train && c10::GradMode::is_enabled()) {
    RnnPass pass = recorded_pass(call, host, draw);
    for (const Tensor& result : pass.results) found.push_back(result.detach());
    keep_pass(aliases.of(reserve), std::move(pass));
  } else {
    Recurrent run = run_on_host(call, host, draw);
    found = std::move(run.hidden);
    found.insert(found.begin(), std::move(run.output));
  }
  aliases.take(aliases.of(output), found[0]);
  aliases.take(aliases.of(hy), found[1]);
  if (cx.defined()) aliases.take(aliases.of(cy), found[2]);
  if (call.is_transposed()) output.transpose_(0, 1);
  return {output, hy, cy, reserve, buffer};
}

// Writes the gradient of a leaf; 0 if there is none.
void write_gradient(Aliases& aliases, const Tensor& to, const Tensor& gradient) {
  const Tensor alias = aliases.of(to);
  if (gradient.defined())
    aliases.take(alias, gradient);
  else
    alias.zero_();
}

// The gradients of the weights, from those of matrices_in(), in the form of the weights. Where the
// layer has biases they are views of one buffer.
std::vector<Tensor> write_weights(const RnnCall& call, const Tensor& input, TensorList weights,
                                  const Tensor& buffer, at::ArrayRef<Tensor> found) {
  const Tensor x = call.steps_first(input).contiguous();
  std::int64_t elements = 0;
  for (const Tensor& gradient : found) elements += gradient.defined() ? gradient.numel() : 0;
  const Tensor all = elements == buffer.numel() ? at::empty(buffer.sizes(), buffer.options())
                                                : at::zeros(buffer.sizes(), buffer.options());
  const Tensor workspace = call.workspace(x);
  if (!found.empty()) {
    Aliases aliases;
    const std::vector<Tensor> targets = matrices_in(aliases.of(all), call);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i].defined()) targets[i].copy_(found[i]);
  }
  std::vector<Tensor> views = views_of_weights(all, call.rnn, true);
  const std::int64_t each = call.rnn.projected == 0 ? 4 : 5;
  if (each == call.each) {
    for (std::size_t i = 0; i < views.size(); ++i) views[i].resize_(weights[i].sizes());
    return views;
  }
  std::vector<Tensor> own;
  for (const Tensor& weight : weights) own.push_back(at::empty(weight.sizes(), weight.options()));
  copy_weights(views, each, own, call.each);
  return own;
}

struct RnnGradients {
  Tensor output, hy, cy;  // cy is undefined without a cell's state
};

void check_backward(const RnnCall& call, const Tensor& input, const Tensor& output,
                    const Tensor& hx, const Tensor& cx, const RnnGradients& of) {
  check_states(call, hx, cx);
  TORCH_CHECK(call.layout.train, "cudnn RNN backward can only be called in training mode");
  check_size("input", call.steps_first(input), call.input_size(input));
  check_size("output", call.steps_first(output), call.output_size(input));
  check_size("hidden", hx, call.hidden_size());
  check_size("cell", cx, call.cell_size());
  check_size("d_hidden", of.hy, call.hidden_size());
  check_size("d_cell", of.cy, call.cell_size());
}

// The gradients of the weights as tensors of the CPU.
using OnHost = std::vector<Tensor>;

// A gradient; 0 if nobody wants it, so that equal calls have equal results. cuDNN computes it.
Tensor gradient_like(at::IntArrayRef sizes, const Tensor& like, bool is_wanted) {
  return is_wanted ? at::empty(sizes, like.options()) : at::zeros(sizes, like.options());
}

// Computes the gradients of (input, hx, cx, weights) that are wanted.
std::tuple<Tensor, Tensor, Tensor, OnHost> backward_of(const RnnCall& call, const Tensor& input,
                                                       const Tensor& buffer, const Tensor& hx,
                                                       const Tensor& cx, const RnnGradients& of,
                                                       const Tensor& reserve,
                                                       const std::array<bool, 4>& wanted) {
  const Tensor x = call.steps_first(input).contiguous();
  const Tensor dy = call.steps_first(of.output).contiguous();
  const bool of_states = wanted[1] || wanted[2];
  Tensor dx = gradient_like(x.sizes(), x, wanted[0]);
  Tensor dhx = gradient_like(call.hidden_size(), hx, of_states);
  Tensor dcx = cx.defined() ? gradient_like(call.cell_size(), cx, of_states) : Tensor();
  const Tensor workspace = call.workspace(x);
  if (lack_data({x, hx, cx, buffer, reserve, dy, of.hy, of.cy})) {
    make_up({dx, dhx, dcx});
    if (call.is_transposed()) dx.transpose_(0, 1);
    return {dx, dhx, dcx, OnHost()};
  }
  Aliases aliases;
  RnnOnHost host = on_host(aliases, x, states_of(hx, cx), buffer, call);
  const Tensor reserve_on_host = aliases.of(reserve);
  const RnnDropout drop(call.layout, input.device().index(), Tensor(), reserve_on_host);
  std::optional<RnnPass> again;
  const RnnPass* pass = pass_of(reserve_on_host);
  if (pass == nullptr) {
    again = recorded_pass(call, host, [&](const Tensor& of_layer, std::int64_t layer) {
      return drop.again(of_layer, layer);
    });
    pass = &*again;
  }
  std::vector<Tensor> leaves;
  if (wanted[0]) leaves.push_back(pass->input);
  if (of_states) leaves.insert(leaves.end(), pass->states.begin(), pass->states.end());
  if (wanted[3]) leaves.insert(leaves.end(), pass->weights.begin(), pass->weights.end());
  std::vector<Tensor> found;
  if (!leaves.empty()) {
    std::vector<Tensor> gradients{aliases.of(dy), aliases.of(of.hy)};
    if (cx.defined()) gradients.push_back(aliases.of(of.cy));
    // A program may ask for the gradients again.
    const bool keep = !again.has_value();
    const GraphInKernel graph;
    found = torch::autograd::grad(pass->results, leaves, gradients, keep, false, true);
  }
  auto next = found.begin();
  if (wanted[0]) write_gradient(aliases, dx, *next++);
  if (of_states) {
    write_gradient(aliases, dhx, *next++);
    if (cx.defined()) write_gradient(aliases, dcx, *next++);
  }
  if (call.is_transposed()) dx.transpose_(0, 1);
  return {dx, dhx, dcx, OnHost(next, found.end())};
}

RnnBackward rnn_backward(const Tensor& input, TensorList weights, std::int64_t each,
                         const Tensor& buffer, const Tensor& hx, const MaybeTensor& maybe_cx,
                         const Tensor& output, const MaybeTensor& grad_output,
                         const MaybeTensor& grad_hy, const MaybeTensor& grad_cy, std::int64_t mode,
                         c10::SymInt hidden, c10::SymInt projected, std::int64_t layers,
                         bool batch_first, double dropout, bool train, bool bidirectional,
                         c10::SymIntArrayRef batch_sizes, const MaybeTensor&, const Tensor& reserve,
                         std::array<bool, 4> wanted) {
  if (!has(grad_output) && !has(grad_hy) && !has(grad_cy))
    return {Tensor(), Tensor(), Tensor(), std::vector<Tensor>(weights.size())};
  const Tensor cx = maybe_cx.value_or(Tensor());
  const auto or_zeros = [](const MaybeTensor& given, const Tensor& like) {
    return has(given) ? *given : at::zeros_like(like, at::MemoryFormat::Contiguous);
  };
  const RnnGradients of{or_zeros(grad_output, output), or_zeros(grad_hy, hx),
                        cx.defined() ? or_zeros(grad_cy, cx) : Tensor()};
  const RnnCall call = rnn_call(input, each, mode, hidden, projected, layers, batch_first, dropout,
                                train, bidirectional, batch_sizes);
  check_backward(call, input, output, hx, cx, of);
  auto [dx, dhx, dcx, found] = backward_of(call, input, buffer, hx, cx, of, reserve, wanted);
  std::vector<Tensor> dw;
  if (wanted[3]) dw = write_weights(call, input, weights, buffer, found);
  return {dx, dhx, dcx, dw};
}

// Copies the weights into a buffer and makes them its views. Returns the buffer.
Tensor flatten(TensorList weights, std::int64_t each, c10::SymInt input, std::int64_t mode,
               c10::SymInt hidden, c10::SymInt projected, std::int64_t layers, bool,
               bool bidirectional) {
  TORCH_CHECK(!weights.empty(), "empty weight list");
  const CudnnRnn rnn{
      cell_of_mode(mode),   input.expect_int(), hidden.expect_int(), projected.expect_int(), layers,
      bidirectional ? 2 : 1};
  const Tensor buffer = at::zeros({elements_of_weights(rnn)}, weights[0].options());
  constexpr std::int64_t kProjectedWithoutBiases = 3;
  const std::vector<Tensor> views = views_of_weights(buffer, rnn, each > kProjectedWithoutBiases);
  TORCH_CHECK(weights.size() == views.size(), "number of layers mismatch");
  copy_weights(weights, each, views, each);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Tensor& weight = weights[i];
    weight.set_(views[i].view_as(weight));
  }
  return buffer;
}

// NOLINTEND(readability-function-size, performance-unnecessary-value-param)

void put_cudnn_rnn(torch::Library& aten) {
  aten.impl("_cudnn_rnn", TORCH_FN(rnn_forward));
  aten.impl("_cudnn_rnn_backward", TORCH_FN(rnn_backward));
  aten.impl("_cudnn_rnn_flatten_weight", TORCH_FN(flatten));
}

const OperatorGroup kCudnnRnn(&put_cudnn_rnn);

}  // namespace

}  // namespace torchport::vdev
