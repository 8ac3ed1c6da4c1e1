// What _assert_async and the kernels that draw from given probabilities assert.
//
// Sources: aten/src/ATen/native/cuda/TensorCompare.cu (_assert_async_cuda_kernel), multinomial of
// aten/src/ATen/native/Distributions.cpp, and cuda/MultinomialKernel.cu. Lines are those of 2026; 0
// is one that was not seen.
#include <cmath>
#include <string>

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
  return async(message.isString() ? message.toStringRef() : "input[0] != 0",
               "the asserted tensor is zero");
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

const KernelAssertion kAssertAsync("aten::_assert_async", &of_assert_async);
const KernelAssertion kMultinomial("aten::multinomial", &of_multinomial);

}  // namespace

}  // namespace torchport::vdev
