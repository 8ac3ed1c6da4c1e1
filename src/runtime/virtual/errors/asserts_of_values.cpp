// What _assert_async and the kernels that draw from given probabilities assert.
//
// Sources: aten/src/ATen/native/cuda/TensorCompare.cu (_assert_async_cuda_kernel), multinomial of
// aten/src/ATen/native/Distributions.cpp, and cuda/MultinomialKernel.cu. Lines are those of 2026; 0
// is one that was not seen.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "runtime/virtual/errors/bad_values.h"
#include "runtime/virtual/errors/kernel_assertions.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using Asserted = std::optional<FailedAssertion>;

constexpr const char* kInvalid = "probability tensor contains either `inf`, `nan` or element < 0";
constexpr const char* kZeroSum = "invalid multinomial distribution (sum of probabilities <= 0)";

FailedAssertion async(std::string condition, std::string reason) {
  return {.file = "TensorCompare.cu",
          .line = 109,
          .kernel = "_assert_async_cuda_kernel",
          .condition = std::move(condition),
          .threads = all_threads(1, 1),
          .reason = std::move(reason)};
}

Asserted of_assert_async(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  if (self.numel() != 1 || self.is_nonzero()) return {};
  const c10::IValue& message = call.value("assert_msg");
  return async(message.isString() ? message.toStringRef() : "", "the asserted tensor is zero");
}

Asserted of_multinomial(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const bool each = !call.flag("replacement") || call.integer("num_samples") == 1;
  const Tensor valid = self.ge(0).logical_and(self.lt(INFINITY));
  if (!valid.all().item<bool>()) {
    const Tensor bad = valid.reshape(-1).logical_not().nonzero();
    const auto position = bad[0][0].item<std::int64_t>();
    std::string reason = "probability " +
                         std::to_string(self.reshape(-1)[position].item().toDouble()) + " at " +
                         place_text(position, self.sizes());
    if (each) return async(kInvalid, std::move(reason));
    return FailedAssertion{.file = "MultinomialKernel.cu",
                           .kernel = "sampleMultinomialOnce",
                           .condition = "val >= zero",
                           .threads = all_threads(1, 1),
                           .reason = std::move(reason)};
  }
  if (!each || !self.sum(-1).eq(0).any().item<bool>()) return {};
  return async(kZeroSum, "all probabilities of a distribution are 0");
}

// repeat_interleave(Tensor repeats, *, SymInt? output_size): every thread compares the given size
// with the sum (Repeat.cu).
Asserted of_repeat_interleave(const CallArguments& call) {
  constexpr std::int64_t kBlock = 512;
  constexpr std::int64_t kWarpsOfBlock = kBlock / 32;
  constexpr std::int64_t kMostBlocks = 2048;
  const Tensor repeats = call.tensor("repeats");
  if (!call.value("output_size").isInt() || !at::isIntegralType(repeats.scalar_type(), false))
    return {};
  const std::int64_t given = call.integer("output_size");
  const auto sum = repeats.sum().item<std::int64_t>();
  if (given == sum || repeats.numel() == 0) return {};
  const std::int64_t blocks = (repeats.numel() + kWarpsOfBlock - 1) / kWarpsOfBlock;
  return FailedAssertion{
      .file = "Repeat.cu",
      .line = 20,
      .kernel = "compute_cuda_kernel",
      .condition = "result_size == cumsum_ptr[size - 1]",
      .threads = all_threads(std::min(blocks, kMostBlocks), kBlock),
      .message = fmt::format("Invalid input! In `repeat_interleave`, the `output_size` argument "
                             "({}) must be the same as the sum of the elements in the `repeats` "
                             "tensor ({}).",
                             given, sum),
      .reason = fmt::format("output_size is {}, and the repeats sum up to {}", given, sum)};
}

std::vector<c10::IValue> repeated(const CallArguments& call) {
  return {at::zeros({call.integer("output_size")}, call.tensor("repeats").options())};
}

const KernelAssertion kRepeatInterleave("aten::repeat_interleave", &of_repeat_interleave,
                                        &repeated);
const KernelAssertion kAssertAsync("aten::_assert_async", &of_assert_async);
const KernelAssertion kMultinomial("aten::multinomial", &of_multinomial);

}  // namespace

}  // namespace torchport::vdev
