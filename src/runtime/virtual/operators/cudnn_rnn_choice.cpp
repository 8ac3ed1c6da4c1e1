// What happens between at::lstm() and cuDNN's operators: the functions that ATen calls for a layer
// that cuDNN takes (native/RNN.cpp), and what autocast does with it. They are those of
// aten/src/ATen/native/cudnn/RNN.cpp and aten/src/ATen/cudnn/AutocastRNN.cpp.
#include <tuple>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/native/RNN.h>
#include <ATen/ops/_cudnn_rnn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/cudnn_rnn.h"
#include "runtime/virtual/operators/cudnn_rnn_dropout.h"
#include "runtime/virtual/operators/maybe_tensor.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

// NOLINTBEGIN(readability-function-size): the signatures are those of ATen.

using at::Tensor;
using at::TensorList;
using RnnResults = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

std::int64_t weights_of_run(bool biases, bool projected) {
  constexpr std::int64_t kWithBiases = 4;
  return (biases ? kWithBiases : 2) + (projected ? 1 : 0);
}

RnnResults call_cudnn(Cell cell, const Tensor& input, const Tensor& hx, const Tensor& cx,
                      TensorList params, bool biases, std::int64_t layers, double dropout,
                      bool train, bool bidirectional, bool batch_first,
                      at::IntArrayRef batch_sizes) {
  const c10::OptionalDeviceGuard guard(input.device());
  const bool projected = cx.defined() && cx.sym_size(2) != hx.sym_size(2);
  const CudnnRnn rnn{cell,
                     input.sym_size(-1).guard_int(__FILE__, __LINE__),
                     (projected ? cx : hx).sym_size(2).guard_int(__FILE__, __LINE__),
                     projected ? hx.sym_size(2).guard_int(__FILE__, __LINE__) : 0,
                     layers,
                     bidirectional ? 2 : 1};
  const std::int64_t each = weights_of_run(biases, projected);
  const Tensor buffer = find_buffer(params, each, rnn);
  const Tensor state = train && dropout > 0 ? dropout_state_of(input, dropout) : Tensor();
  return at::_cudnn_rnn(input, params, each, buffer, hx, cx, static_cast<std::int64_t>(cell),
                        rnn.hidden, rnn.projected, layers, batch_first, dropout, train,
                        bidirectional, batch_sizes, state);
}

at::IntArrayRef numbers_in(const Tensor& batch_sizes) {
  TORCH_CHECK(batch_sizes.dim() == 1, "batch_sizes tensor should be 1D");
  return {batch_sizes.const_data_ptr<std::int64_t>(),
          static_cast<std::size_t>(batch_sizes.size(0))};
}

template <Cell kCell>
void one_state(Tensor& output, Tensor& hy, const Tensor& input, const Tensor& hx, TensorList params,
               bool biases, std::int64_t layers, double dropout, bool train, bool bidirectional,
               bool batch_first) {
  std::tie(output, hy, std::ignore, std::ignore, std::ignore) =
      call_cudnn(kCell, input, hx, Tensor(), params, biases, layers, dropout, train, bidirectional,
                 batch_first, {});
}

template <Cell kCell>
void one_state_packed(Tensor& output, Tensor& hy, const Tensor& data, const Tensor& batch_sizes,
                      const Tensor& hx, TensorList params, bool biases, std::int64_t layers,
                      double dropout, bool train, bool bidirectional) {
  std::tie(output, hy, std::ignore, std::ignore, std::ignore) =
      call_cudnn(kCell, data, hx, Tensor(), params, biases, layers, dropout, train, bidirectional,
                 false, numbers_in(batch_sizes));
}

void lstm(Tensor& output, Tensor& hy, Tensor& cy, const Tensor& input, TensorList hx,
          TensorList params, bool biases, std::int64_t layers, double dropout, bool train,
          bool bidirectional, bool batch_first) {
  std::tie(output, hy, cy, std::ignore, std::ignore) =
      call_cudnn(Cell::kLstm, input, hx[0], hx[1], params, biases, layers, dropout, train,
                 bidirectional, batch_first, {});
}

void lstm_packed(Tensor& output, Tensor& hy, Tensor& cy, const Tensor& data,
                 const Tensor& batch_sizes, TensorList hx, TensorList params, bool biases,
                 std::int64_t layers, double dropout, bool train, bool bidirectional) {
  std::tie(output, hy, cy, std::ignore, std::ignore) =
      call_cudnn(Cell::kLstm, data, hx[0], hx[1], params, biases, layers, dropout, train,
                 bidirectional, false, numbers_in(batch_sizes));
}

// Casts to float16, whatever type autocast has, and puts the cast weights into one buffer.
RnnResults cast_and_flatten(const Tensor& input, TensorList weights, std::int64_t each,
                            const MaybeTensor& given_buffer, const Tensor& hx,
                            const MaybeTensor& cx, std::int64_t mode, std::int64_t hidden,
                            std::int64_t projected, std::int64_t layers, bool batch_first,
                            double dropout, bool train, bool bidirectional,
                            at::IntArrayRef batch_sizes, const MaybeTensor& state) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::Autocast);
  for (const Tensor& weight : weights)
    TORCH_CHECK(weights[0].scalar_type() == weight.scalar_type(),
                "Weight scalar types do not match.");
  const bool biases = each == weights_of_run(true, projected > 0);
  TORCH_INTERNAL_ASSERT(biases || each == weights_of_run(false, projected > 0), "weight_stride0 ",
                        each);
  const Tensor& like = has(given_buffer) ? *given_buffer : weights[0];
  MaybeTensor buffer = given_buffer;
  std::vector<Tensor> cast = weights.vec();
  if (at::autocast::is_eligible(like, c10::DeviceType::CUDA) && like.scalar_type() != at::kHalf) {
    const CudnnRnn rnn{cell_of_mode(mode), input.size(-1), hidden,
                       projected,          layers,         bidirectional ? 2 : 1};
    buffer = at::zeros({elements_of_weights(rnn)}, weights[0].options().dtype(at::kHalf));
    cast = views_of_weights(*buffer, rnn, biases);
    copy_weights(weights, each, cast, each);
  }
  return at::_cudnn_rnn(
      at::autocast::cached_cast(at::kHalf, input, c10::DeviceType::CUDA), cast, each, buffer,
      at::autocast::cached_cast(at::kHalf, hx, c10::DeviceType::CUDA),
      at::autocast::cached_cast(at::kHalf, cx, c10::DeviceType::CUDA), mode, hidden, projected,
      layers, batch_first, dropout, train, bidirectional, batch_sizes, state);
}

// NOLINTEND(readability-function-size)

// A real device's functions may be there in builds of torch with CUDA: these replace them.
void put_cudnn_rnn_choice(torch::Library&) {
  if (Runtime::get().kind().type != c10::DeviceType::CUDA) return;
  at::native::lstm_cudnn_stub.set_cuda_dispatch_ptr(&lstm);
  at::native::lstm_packed_cudnn_stub.set_cuda_dispatch_ptr(&lstm_packed);
  at::native::gru_cudnn_stub.set_cuda_dispatch_ptr(&one_state<Cell::kGru>);
  at::native::gru_packed_cudnn_stub.set_cuda_dispatch_ptr(&one_state_packed<Cell::kGru>);
  at::native::rnn_tanh_cudnn_stub.set_cuda_dispatch_ptr(&one_state<Cell::kTanh>);
  at::native::rnn_tanh_packed_cudnn_stub.set_cuda_dispatch_ptr(&one_state_packed<Cell::kTanh>);
  at::native::rnn_relu_cudnn_stub.set_cuda_dispatch_ptr(&one_state<Cell::kRelu>);
  at::native::rnn_relu_packed_cudnn_stub.set_cuda_dispatch_ptr(&one_state_packed<Cell::kRelu>);
  static auto* const kAutocast = new torch::Library(torch::Library::IMPL, "aten",
                                                    c10::DispatchKey::Autocast, __FILE__, __LINE__);
  kAutocast->impl("_cudnn_rnn", TORCH_FN(cast_and_flatten));
}

const OperatorGroup kCudnnRnnChoice(&put_cudnn_rnn_choice);

}  // namespace

}  // namespace torchport::vdev
