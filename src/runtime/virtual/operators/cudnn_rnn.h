// What cuDNN knows of a recurrent layer: where its buffer of weights has which, and how much memory
// its calls take.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/virtual/operators/recurrent.h"

namespace torchport::vdev {

// The sizes of a layer, as _cudnn_rnn and the other operators get them.
struct CudnnRnn {
  Cell cell = Cell::kLstm;
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  std::int64_t projected = 0;  // 0 without a projection
  std::int64_t layers = 1;
  std::int64_t directions = 1;

  // The features of h, and of the output of one direction.
  [[nodiscard]] std::int64_t features() const { return projected == 0 ? hidden : projected; }
  // Layers in one direction.
  [[nodiscard]] std::int64_t runs() const { return layers * directions; }
};

// Raises c10::Error for a number that is not one of cuDNN's modes.
[[nodiscard]] Cell cell_of_mode(std::int64_t mode);

// A part of the buffer of weights.
struct WeightPart {
  std::int64_t offset;    // elements
  std::int64_t elements;  // of all gates
};

// The parts for each layer and direction: the weights of the input and of the hidden state, both
// biases, and the projection if there is one. cuDNN keeps biases, which are 0, for a layer without
// them, too.
[[nodiscard]] std::vector<std::vector<WeightPart>> weight_parts(const CudnnRnn& rnn);
[[nodiscard]] std::int64_t elements_of_weights(const CudnnRnn& rnn);

// Views of the parts of `buffer`, each (elements, 1), in the order of weight_parts().
[[nodiscard]] std::vector<at::Tensor> views_of_weights(const at::Tensor& buffer,
                                                       const CudnnRnn& rnn, bool biases);

// Copies the weights of all layers and directions, `each` of them for one, between lists in which
// each has 2 to 5: a list without biases leaves those of the other list alone.
void copy_weights(at::TensorList from, std::int64_t each_from, at::TensorList to,
                  std::int64_t each_to);

// The buffer of which `params` are the views that views_of_weights() makes, with `each` for a layer
// and direction; undefined if they are not.
[[nodiscard]] at::Tensor find_buffer(at::TensorList params, std::int64_t each, const CudnnRnn& rnn);

// The bytes that a call keeps for its backward pass, and those it works in, for `steps` of `batch`
// sequences of elements of this size.
[[nodiscard]] std::int64_t reserve_bytes(const CudnnRnn& rnn, std::int64_t steps,
                                         std::int64_t batch, std::int64_t size);
[[nodiscard]] std::int64_t workspace_bytes(const CudnnRnn& rnn, std::int64_t steps,
                                           std::int64_t batch, at::ScalarType type, bool packed);

}  // namespace torchport::vdev
