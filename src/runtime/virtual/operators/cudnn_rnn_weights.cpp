// The buffer of weights of cuDNN's recurrent layers. First come the matrices of all layers and
// directions, then their biases.
#include <array>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include "runtime/virtual/operators/cudnn_rnn.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using at::TensorList;

constexpr std::size_t kInput = 0;
constexpr std::size_t kHidden = 1;
constexpr std::size_t kProjection = 4;

std::int64_t gates_of(Cell cell) {
  constexpr std::int64_t kOfLstm = 4;
  constexpr std::int64_t kOfGru = 3;
  if (cell == Cell::kLstm) return kOfLstm;
  return cell == Cell::kGru ? kOfGru : 1;
}

// Where a list with `each` weights for a layer and direction has those that weight_parts() has at
// 0, 1...; empty means that it has no such weight.
std::vector<std::size_t> places_of(std::int64_t each) {
  constexpr std::int64_t kProjectedWithoutBiases = 3;
  if (each == kProjectedWithoutBiases) return {kInput, kHidden, kProjection};
  std::vector<std::size_t> places;
  for (std::int64_t i = 0; i < each; ++i) places.push_back(static_cast<std::size_t>(i));
  return places;
}

}  // namespace

Cell cell_of_mode(std::int64_t mode) {
  TORCH_CHECK(mode >= static_cast<std::int64_t>(Cell::kRelu) &&
                  mode <= static_cast<std::int64_t>(Cell::kGru),
              "unrecognized cuDNN RNN mode ", mode);
  return static_cast<Cell>(mode);
}

std::vector<std::vector<WeightPart>> weight_parts(const CudnnRnn& rnn) {
  const std::int64_t rows = gates_of(rnn.cell) * rnn.hidden;
  std::vector<std::vector<WeightPart>> all(static_cast<std::size_t>(rnn.runs()));
  std::int64_t offset = 0;
  const auto next = [&](std::int64_t elements) {
    offset += elements;
    return WeightPart{offset - elements, elements};
  };
  std::vector<WeightPart> projections;
  for (std::int64_t run = 0; run < rnn.runs(); ++run) {
    const bool first = run < rnn.directions;
    auto& parts = all[static_cast<std::size_t>(run)];
    parts.push_back(next(rows * (first ? rnn.input : rnn.directions * rnn.features())));
    parts.push_back(next(rows * rnn.features()));
    if (rnn.projected != 0) projections.push_back(next(rnn.projected * rnn.hidden));
  }
  for (std::size_t run = 0; run < all.size(); ++run) {
    all[run].push_back(next(rows));
    all[run].push_back(next(rows));
    if (rnn.projected != 0) all[run].push_back(projections[run]);
  }
  return all;
}

std::int64_t elements_of_weights(const CudnnRnn& rnn) {
  std::int64_t elements = 0;
  for (const auto& parts : weight_parts(rnn))
    for (const WeightPart& part : parts) elements += part.elements;
  return elements;
}

std::vector<Tensor> views_of_weights(const Tensor& buffer, const CudnnRnn& rnn, bool biases) {
  constexpr std::size_t kFirstBias = 2;
  std::vector<Tensor> views;
  for (const auto& parts : weight_parts(rnn)) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!biases && (i == kFirstBias || i == kFirstBias + 1)) continue;
      // Not views for autograd, as on a real device: it copies into them and each has its own
      // gradient.
      views.push_back(at::empty({0}, buffer.options())
                          .set_(buffer.storage(), parts[i].offset,
                                std::array<std::int64_t, 2>{parts[i].elements, 1}));
    }
  }
  return views;
}

void copy_weights(TensorList from, std::int64_t each_from, TensorList to, std::int64_t each_to) {
  const std::vector<std::size_t> of_from = places_of(each_from);
  const std::vector<std::size_t> of_to = places_of(each_to);
  for (std::size_t run = 0; run * of_from.size() < from.size(); ++run) {
    for (std::size_t i = 0; i < of_from.size(); ++i) {
      for (std::size_t j = 0; j < of_to.size(); ++j) {
        if (of_from[i] != of_to[j]) continue;
        const Tensor& target = to[run * of_to.size() + j];
        target.copy_(from[run * of_from.size() + i].view_as(target));
      }
    }
  }
}

Tensor find_buffer(TensorList params, std::int64_t each, const CudnnRnn& rnn) {
  const Tensor& first = params[0];
  const auto parts = weight_parts(rnn);
  const std::vector<std::size_t> places = places_of(each);
  TORCH_CHECK(params.size() == parts.size() * places.size());
  const std::int64_t elements = elements_of_weights(rnn);
  Tensor buffer = at::empty({0}, first.options()).set_(first.storage());
  if (buffer.size(0) < elements) return {};
  for (std::size_t i = 0; i < params.size(); ++i) {
    const WeightPart& part = parts[i / places.size()][places[i % places.size()]];
    if (!params[i].is_alias_of(first) || params[i].storage_offset() != part.offset) return {};
  }
  if (!params.back().is_contiguous()) return {};
  return buffer.size(0) > elements ? buffer.narrow(0, 0, elements) : buffer;
}

}  // namespace torchport::vdev
