// The memory of cuDNN's recurrent layers. cuDNN's library answers these sizes and no source says
// how, so that the figures are those that an NVIDIA H200 with cuDNN 9.19 (torch 2.11.0+cu130)
// takes. tests/virtual/test_cudnn_rnn.py has them.
#include "runtime/virtual/operators/cudnn_rnn.h"

namespace torchport::vdev {

namespace {

// The values that a layer keeps for each step, sequence and feature: its gates, and what else the
// backward pass of its cell needs.
std::int64_t kept_values(Cell cell) {
  switch (cell) {
    case Cell::kLstm:
      return 5;
    case Cell::kGru:
      return 6;
    default:
      return 1;
  }
}

// As use_rnn_persist_small_h() of aten/src/ATen/native/cudnn/RNN.cpp decides for the forward pass:
// small layers run in one kernel.
bool runs_in_one_kernel(const CudnnRnn& rnn, at::ScalarType type, bool packed) {
  constexpr std::int64_t kMostOfPlain = 384;
  constexpr std::int64_t kMostOfGated = 192;
  const bool gated = rnn.cell == Cell::kLstm || rnn.cell == Cell::kGru;
  return !packed && rnn.projected == 0 && type != at::kDouble &&
         rnn.hidden <= (gated ? kMostOfGated : kMostOfPlain);
}

}  // namespace

// Fits all 21 recorded layers: LSTMs, GRUs and plain ones of one and two layers, in both
// directions, with a projection, in float32, float16 and bfloat16. No layer with dropout and none
// that is packed was recorded.
std::int64_t reserve_bytes(const CudnnRnn& rnn, std::int64_t steps, std::int64_t batch,
                           std::int64_t size) {
  constexpr std::int64_t kAlways = 256;
  const std::int64_t places = steps * batch * rnn.directions;
  std::int64_t values = kept_values(rnn.cell) * rnn.layers * rnn.hidden;
  // The output of each layer but the last; without a projection that is h.
  values += (rnn.layers - 1) * rnn.features();
  // With a projection, h before and after it.
  if (rnn.projected != 0) values += rnn.layers * (rnn.hidden + rnn.projected);
  return places * values * size + kAlways;
}

// Fits the recorded LSTM of two layers with 512 features (2 sequences of 32 steps, 256 features of
// input): 32260608 bytes in float32, and in float16 between 23 and 24 MiB. That cuDNN works in a
// copy of the weights and 16 MiB is what both have in common. What small layers take, which run in
// one kernel, was not recorded: nothing here.
std::int64_t workspace_bytes(const CudnnRnn& rnn, std::int64_t steps, std::int64_t batch,
                             at::ScalarType type, bool packed) {
  if (runs_in_one_kernel(rnn, type, packed)) return 0;
  constexpr std::int64_t kAlways = (std::int64_t{16} << 20) + 512;
  constexpr std::int64_t kValuesOfStep = 3;
  constexpr std::int64_t kValuesOfSequence = 2;
  std::int64_t matrices = 0;
  for (const auto& parts : weight_parts(rnn)) {
    matrices += parts[0].elements + parts[1].elements;
    if (rnn.projected != 0) matrices += parts.back().elements;
  }
  const std::int64_t values = (kValuesOfStep * steps + kValuesOfSequence) * batch * rnn.hidden;
  const auto size = static_cast<std::int64_t>(c10::elementSize(type));
  return kAlways + (matrices + rnn.runs() * values) * size;
}

}  // namespace torchport::vdev
