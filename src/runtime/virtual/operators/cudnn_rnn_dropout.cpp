#include "runtime/virtual/operators/cudnn_rnn_dropout.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_cudnn_init_dropout_state.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/operators/attention_dropout.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// The beginning of a state: a seed, and how many numbers were drawn.
using SeedAndOffset = std::array<std::uint64_t, 2>;

// The sources say "slightly over 2MB" (aten/src/ATen/native/cudnn/RNN.cpp).
constexpr std::int64_t kBytesOfState = (std::int64_t{2} << 20) + 512;

Tensor init_dropout_state(double dropout, bool train, std::int64_t seed,
                          std::optional<at::ScalarType> type, std::optional<at::Layout> layout,
                          std::optional<at::Device> device, std::optional<bool> pinned) {
  TORCH_INTERNAL_ASSERT(train && dropout > 0,
                        "dropout must be nonzero; otherwise call set_no_dropout");
  const Tensor state = at::empty({kBytesOfState}, type, layout, device, pinned, std::nullopt);
  const SeedAndOffset first{static_cast<std::uint64_t>(seed), 0};
  Aliases aliases;
  std::memcpy(aliases.of(state).mutable_data_ptr(), first.data(), sizeof(first));
  return state;
}

void put_dropout_state(torch::Library& aten) {
  aten.impl("_cudnn_init_dropout_state", TORCH_FN(init_dropout_state));
}

const OperatorGroup kDropoutState(&put_dropout_state);

}  // namespace

Tensor RnnDropout::noted(const Tensor& output, std::int64_t layer) const {
  const std::int64_t elements = output.numel();
  return reserve_.narrow(0, layer * elements, elements).view(output.sizes());
}

Tensor RnnDropout::dropped(const Tensor& output, const Tensor& kept) const {
  return output * kept.div_(1 - layout_.dropout);
}

Tensor RnnDropout::draw(const Tensor& output, std::int64_t layer) const {
  // As at::dropout() does on the CPU.
  Tensor kept = at::empty_like(output);
  if (layout_.dropout == 1.0) {
    kept.zero_();
    noted(output, layer).zero_();
    return output * kept;
  }
  if (state_.defined()) {
    SeedAndOffset place{};
    std::memcpy(place.data(), state_.const_data_ptr(), sizeof(place));
    Tensor uniform = at::empty(output.sizes(), output.options().dtype(at::kFloat));
    fill_uniform({place[0], place[1]}, uniform);
    kept.copy_(uniform.gt(layout_.dropout));
    place[1] += static_cast<std::uint64_t>(output.numel());
    std::memcpy(state_.mutable_data_ptr(), place.data(), sizeof(place));
  } else {
    const DrawFrom draw_from(device_);
    kept.bernoulli_(1 - layout_.dropout);
  }
  noted(output, layer).copy_(kept);
  return dropped(output, kept);
}

Tensor RnnDropout::again(const Tensor& output, std::int64_t layer) const {
  const Tensor kept = noted(output, layer).to(output.scalar_type());
  return layout_.dropout == 1.0 ? output * kept : dropped(output, kept);
}

Tensor dropout_state_of(const Tensor& input, double dropout) {
  if (!draws_as_device()) return {};
  static std::mutex mutex;
  static auto* const kStates = new std::map<c10::DeviceIndex, Tensor>();
  const std::scoped_lock lock(mutex);
  Tensor& state = (*kStates)[input.device().index()];
  const at::Generator& generator = default_generator(input.device().index());
  const bool seeded = at::check_generator<PhiloxGenerator>(generator)->take_seeded();
  if (!state.defined() || seeded) {
    const auto seed =
        at::empty({}, input.options().dtype(at::kLong)).random_(generator).item<std::int64_t>();
    state = at::_cudnn_init_dropout_state(dropout, true, seed, input.options().dtype(at::kByte));
  }
  return state;
}

}  // namespace torchport::vdev
