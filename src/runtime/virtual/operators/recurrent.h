// Computes recurrent layers in the CPU's order of operations, so that values and gradients equal
// the CPU's bit by bit: the inputs of all steps are multiplied at once, and LSTMs run in oneDNN
// where the CPU's do (aten/src/ATen/native/RNN.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torchport::vdev {

// The values are cuDNN's numbers of these layers (cudnnRNNMode_t).
enum class Cell : std::uint8_t { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };

// The arguments of a layer's call, except its tensors.
struct RecurrentLayout {
  bool has_biases = true;
  std::int64_t layers = 1;
  double dropout = 0.0;
  bool train = false;
  bool bidirectional = false;

  [[nodiscard]] std::int64_t directions() const { return bidirectional ? 2 : 1; }
  // Whether elements of the output of a layer are dropped before the next layer.
  [[nodiscard]] bool drops() const { return train && dropout != 0.0 && layers > 1; }
};

// A sequence in the form of torch.nn.utils.rnn.PackedSequence. The sizes are empty for a padded
// one.
struct Sequence {
  at::Tensor data;  // padded: (steps, batch, features); packed: (sum of sizes, features)
  std::vector<std::int64_t> sizes;
};

struct Recurrent {
  at::Tensor output;               // as Sequence::data
  std::vector<at::Tensor> hidden;  // h, and for an LSTM c: (layers * directions, batch, features)
};

// Returns what is left of the output of the layer with this number.
using DropAfter = std::function<at::Tensor(const at::Tensor& output, std::int64_t layer)>;

// Raises with the messages of aten/src/ATen/native/RNN.h, which cuDNN's layers use, too.
void check_alike(const at::Tensor& input, at::TensorList hidden, at::TensorList params);

// Runs all layers. `hidden` is h, and for an LSTM c, of all layers. `params` has for each layer and
// direction the weights of the input and of the hidden state, the biases of both if there are some,
// and the projection if h has fewer features than c. All tensors are on one device, which may be
// the CPU, and the operations are differentiable. `drop` is called if the layout drops.
[[nodiscard]] Recurrent run_recurrent(Cell cell, Sequence input, at::TensorList hidden,
                                      at::TensorList params, const RecurrentLayout& layout,
                                      const DropAfter& drop);

}  // namespace torchport::vdev
