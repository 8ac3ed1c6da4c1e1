// The numbers of one call of cuDNN's recurrent layers, the sizes of its tensors, and what is
// checked of them.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "runtime/virtual/operators/cudnn_rnn.h"
#include "runtime/virtual/operators/recurrent.h"

namespace torchport::vdev {

// One call of a layer: its numbers, and the sizes of its tensors.
struct RnnCall {
  using Sizes = std::vector<std::int64_t>;

  CudnnRnn rnn;
  RecurrentLayout layout;
  bool batch_first = false;
  std::int64_t each = 0;  // weights of a layer and direction
  Sizes packed;           // sizes of the batch of each step; empty for a padded input
  std::int64_t steps = 0;
  std::int64_t batch = 0;

  [[nodiscard]] bool is_transposed() const { return batch_first && packed.empty(); }
  [[nodiscard]] at::Tensor steps_first(const at::Tensor& tensor) const {
    return is_transposed() ? tensor.transpose(0, 1) : tensor;
  }
  [[nodiscard]] Sizes input_size(const at::Tensor& input) const {
    return packed.empty() ? Sizes{steps, batch, rnn.input} : Sizes{input.size(0), rnn.input};
  }
  [[nodiscard]] Sizes output_size(const at::Tensor& input) const {
    const std::int64_t features = rnn.features() * rnn.directions;
    return packed.empty() ? Sizes{steps, batch, features} : Sizes{input.size(0), features};
  }
  [[nodiscard]] Sizes hidden_size() const { return {rnn.runs(), batch, rnn.features()}; }
  [[nodiscard]] Sizes cell_size() const { return {rnn.runs(), batch, rnn.hidden}; }
  [[nodiscard]] at::Tensor workspace(const at::Tensor& input) const {
    return at::empty({workspace_bytes(rnn, steps, batch, input.scalar_type(), !packed.empty())},
                     input.options().dtype(at::kByte));
  }
};

[[nodiscard]] inline RnnCall rnn_call(const at::Tensor& input, std::int64_t each, std::int64_t mode,
                                      const c10::SymInt& hidden, const c10::SymInt& projected,
                                      std::int64_t layers, bool batch_first, double dropout,
                                      bool train, bool bidirectional,
                                      c10::SymIntArrayRef batch_sizes) {
  RnnCall call;
  call.layout = {each >= 4, layers, dropout, train, bidirectional};
  call.rnn = {cell_of_mode(mode),     input.size(-1), hidden.expect_int(),
              projected.expect_int(), layers,         call.layout.directions()};
  call.batch_first = batch_first;
  call.each = each;
  for (const c10::SymInt& size : batch_sizes) call.packed.push_back(size.expect_int());
  const at::Tensor ordered = call.steps_first(input);
  call.steps = call.packed.empty() ? ordered.size(0) : std::ssize(call.packed);
  call.batch = call.packed.empty() ? ordered.size(1) : call.packed.front();
  return call;
}

// Raises c10::Error for a tensor of other sizes. An undefined one has all.
inline void check_size(const char* what, const at::Tensor& tensor, const RnnCall::Sizes& expected) {
  TORCH_CHECK(!tensor.defined() || tensor.sizes().equals(expected), "Expected ", what, " size ",
              at::IntArrayRef(expected), ", got ", tensor.sizes());
}

inline void check_states(const RnnCall& call, const at::Tensor& hx, const at::Tensor& cx) {
  TORCH_CHECK(call.rnn.cell == Cell::kLstm || !cx.defined(),
              "rnn: illegal defined cx for non-LSTM RNN");
  TORCH_CHECK(hx.is_contiguous(), "rnn: hx is not contiguous");
  TORCH_CHECK(!cx.defined() || cx.is_contiguous(), "rnn: cx is not contiguous");
}

}  // namespace torchport::vdev
