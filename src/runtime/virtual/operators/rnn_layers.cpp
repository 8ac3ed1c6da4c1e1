// Chooses who computes a recurrent layer: cuDNN (cudnn_rnn.cpp) where PyTorch asks it, which
// at::native::lstm() and the others do; else this file, which keeps the CPU's order of operations.
// PyTorch's own composites go step by step for tensors that are not on the CPU, which differs in
// the last bits and takes twice the time.
//
// Calls that are not covered here (autocast, symbolic shapes, wrong arguments) go to PyTorch's
// composites (aten/src/ATen/native/RNN.cpp).
#include <algorithm>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/TensorProperties.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>
#include <torch/library.h>

#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/recurrent.h"
#include "runtime/virtual/torch_releases.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using at::TensorList;

// As use_cudnn() of RNN.cpp.
bool takes_cudnn(const Tensor& input) {
  if (!at::native::cudnn_is_acceptable(input)) return false;
  return input.scalar_type() != at::kBFloat16 || supports_bfloat16_rnn(at::detail::getCUDAHooks());
}

bool is_covered(const Tensor& input, TensorList hidden, TensorList params, std::int64_t each,
                const RecurrentLayout& layout) {
  const auto type = input.scalar_type();
  const auto symbolic = [](const Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  };
  return !takes_cudnn(input) &&
         (type == at::kFloat || type == at::kDouble || type == at::kHalf ||
          type == at::kBFloat16) &&
         !at::autocast::is_autocast_enabled(input.device().type()) && !symbolic(input) &&
         static_cast<std::int64_t>(params.size()) == each * layout.layers * layout.directions() &&
         std::all_of(hidden.begin(), hidden.end(), [&](const Tensor& state) {
           return state.dim() == 3 && !symbolic(state) &&
                  state.size(0) == layout.layers * layout.directions();
         });
}

Recurrent run_on_device(Cell cell, Sequence input, TensorList hidden, TensorList params,
                        const RecurrentLayout& layout) {
  check_alike(input.data, hidden, params);
  return run_recurrent(cell, std::move(input), hidden, params, layout,
                       [&](const Tensor& output, std::int64_t) {
                         return at::dropout(output, layout.dropout, true);
                       });
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
  const RecurrentLayout layout{has_biases, layers, dropout, train, bidirectional};
  if (hx.size() != 2 || input.dim() != 3 ||
      !is_covered(input, hx, params, params_each(has_biases, hx), layout))
    return at::native::lstm(input, hx, params, has_biases, layers, dropout, train, bidirectional,
                            batch_first);
  Recurrent run = run_on_device(Cell::kLstm, padded(input, batch_first), hx, params, layout);
  return {ordered(run.output, batch_first), run.hidden[0], run.hidden[1]};
}

std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes,
                                             TensorList hx, TensorList params, bool has_biases,
                                             std::int64_t layers, double dropout, bool train,
                                             bool bidirectional) {
  const RecurrentLayout layout{has_biases, layers, dropout, train, bidirectional};
  if (hx.size() != 2 || batch_sizes.numel() == 0 ||
      !is_covered(data, hx, params, params_each(has_biases, hx), layout))
    return at::native::lstm(data, batch_sizes, hx, params, has_biases, layers, dropout, train,
                            bidirectional);
  Recurrent run = run_on_device(Cell::kLstm, packed(data, batch_sizes), hx, params, layout);
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
  const RecurrentLayout layout{has_biases, layers, dropout, train, bidirectional};
  if (input.dim() != 3 || !is_covered(input, hx, params, has_biases ? 4 : 2, layout))
    return kComposite(input, hx, params, has_biases, layers, dropout, train, bidirectional,
                      batch_first);
  Recurrent run = run_on_device(kCell, padded(input, batch_first), hx, params, layout);
  return {ordered(run.output, batch_first), run.hidden[0]};
}

template <Cell kCell, Packed kComposite>
std::tuple<Tensor, Tensor> one_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                    TensorList params, bool has_biases, std::int64_t layers,
                                    double dropout, bool train, bool bidirectional) {
  const RecurrentLayout layout{has_biases, layers, dropout, train, bidirectional};
  if (batch_sizes.numel() == 0 || !is_covered(data, hx, params, has_biases ? 4 : 2, layout))
    return kComposite(data, batch_sizes, hx, params, has_biases, layers, dropout, train,
                      bidirectional);
  Recurrent run = run_on_device(kCell, packed(data, batch_sizes), hx, params, layout);
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
