// Implements bernoulli as CUDA's kernels do: with one probability
// (aten/src/ATen/native/cuda/DistributionTemplates.h), and with a tensor of them, for which each
// thread serves four neighbours (ATen/cuda/CUDAApplyUtils.cuh).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/DistributionsHelper.h>
#include <ATen/native/DistributionTemplates.h>
#include <c10/util/SmallVector.h>
#include <fmt/format.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/errors/bad_values.h"
#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/random_fill.h"

namespace torchport::vdev {

namespace {

// NOLINTBEGIN(readability-function-size, performance-unnecessary-value-param): ATen's macros of
// types are long, and its operators take generators by value.

using at::Tensor;
using MaybeGenerator = std::optional<at::Generator>;
namespace templates = at::native::templates;

// --- One probability

template <class Rng>
struct BernoulliKernel {
  void operator()(const Tensor& self, double p, const MaybeGenerator& generator) const {
    Rng& rng = *at::check_generator<Rng>(generator);
    auto iterator = at::TensorIterator::borrowing_nullary_op(self);
    AT_DISPATCH_ALL_TYPES_AND3(
        at::kHalf, at::kBFloat16, at::kBool, iterator.dtype(), "bernoulli_scalar_cuda_", [&] {
          using Real = typename at::DiscreteDistributionType<scalar_t>::type;
          const auto limit = static_cast<Real>(p);
          fill<scalar_t, DrawUniform<Real>>(
              iterator, rng, [=](Real drawn) { return static_cast<scalar_t>(drawn < limit); });
        });
  }
};

// --- A tensor of probabilities

// The dimensions of two tensors of the same sizes, sorted as CUDA_tensor_apply2 does it: a
// dimension that is before another, but whose strides are smaller in one tensor and not larger in
// the other, changes places with it.
class SortedDimensions {
 public:
  SortedDimensions(const Tensor& a, const Tensor& b)
      : sizes_(a.sizes().begin(), a.sizes().end()),
        a_(a.strides().begin(), a.strides().end()),
        b_(b.strides().begin(), b.strides().end()) {
    for (std::size_t i = 0; i + 1 < sizes_.size(); ++i) {
      if (sizes_[i] == 1) continue;
      for (std::size_t j = i + 1; j < sizes_.size(); ++j) {
        if (sizes_[j] == 1) continue;
        const bool rises = a_[i] < a_[j] || b_[i] < b_[j];
        const bool falls = a_[i] > a_[j] || b_[i] > b_[j];
        if (!rises || falls) continue;
        std::swap(sizes_[i], sizes_[j]);
        std::swap(a_[i], a_[j]);
        std::swap(b_[i], b_[j]);
      }
    }
  }

  // The offsets of the element that is the `index`th along the last dimension first.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> offsets(std::int64_t index) const {
    std::int64_t a = 0;
    std::int64_t b = 0;
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      a += index % sizes_[i] * a_[i];
      b += index % sizes_[i] * b_[i];
      index /= sizes_[i];
    }
    return {a, b};
  }

 private:
  using Numbers = c10::SmallVector<std::int64_t, 6>;
  Numbers sizes_;
  Numbers a_;
  Numbers b_;
};

// Each thread has four neighbouring elements and draws one block for them.
template <class T, class Probability>
void draw_each(const Tensor& self, const Tensor& p, const device::PhiloxPlace& place) {
  constexpr std::int64_t kOfThread = 4;
  constexpr std::int64_t kThreadsOfTask = 8192;
  const std::int64_t elements = self.numel();
  const std::int64_t threads = (elements + kOfThread - 1) / kOfThread;
  const SortedDimensions dimensions(self, p);
  T* const results = self.mutable_data_ptr<T>();
  const auto* const limits = p.const_data_ptr<Probability>();
  at::parallel_for(0, threads, kThreadsOfTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t thread = begin; thread < end; ++thread) {
      const device::PhiloxBlock drawn = place.draw(static_cast<std::uint64_t>(thread));
      const std::int64_t first = thread * kOfThread;
      for (std::int64_t i = 0; i < std::min(kOfThread, elements - first); ++i) {
        const auto [to, from] = dimensions.offsets(first + i);
        const Probability p_in = limits[from];
        TORCH_CHECK(p_in >= 0 && p_in <= 1);
        const float number = uniform_float(drawn[static_cast<std::size_t>(i)]);
        results[to] = static_cast<T>(static_cast<Probability>(number) <= p_in);
      }
    }
  });
}

// What the kernel asserts of probabilities outside of [0, 1] (DistributionTemplates.h): a thread
// goes over its elements from the last to the first, and one that has fewer than four comes first.
std::optional<FailedAssertion> outside_of_unit(const Tensor& probabilities) {
  constexpr std::int64_t kOfThread = 4;
  constexpr std::int64_t kThreadsOfBlock = 512;
  constexpr int kLineOfFirst = 639;
  constexpr int kLinesOfEach = 5;
  const Tensor flat = probabilities.reshape(-1);
  const Tensor bad = flat.ge(0).logical_and(flat.le(1)).logical_not().nonzero().reshape(-1);
  if (bad.numel() == 0) return {};
  const auto* const positions = bad.const_data_ptr<std::int64_t>();
  const std::int64_t rest = flat.numel() % kOfThread;
  const std::int64_t last = positions[bad.numel() - 1];
  const bool is_rest = last >= flat.numel() - rest;
  std::int64_t element = 0;
  for (std::int64_t i = 0; i < bad.numel(); ++i)
    element = std::max(element, positions[i] % kOfThread);
  if (is_rest) element = last % kOfThread;
  FailedAssertion failed{.file = "DistributionTemplates.h",
                         .line = kLineOfFirst - kLinesOfEach * static_cast<int>(element),
                         .kernel = "operator()",
                         .condition = fmt::format("0 <= p{0} && p{0} <= 1", element + 1),
                         .reason = fmt::format("probability {} at {} is not between 0 and 1",
                                               flat[positions[0]].item().toDouble(),
                                               place_text(positions[0], probabilities.sizes()))};
  for (std::int64_t i = 0; i < bad.numel() && failed.threads.size() < kThreadsShown; ++i) {
    if (positions[i] % kOfThread != element || (is_rest && positions[i] != last)) continue;
    const std::int64_t thread = positions[i] / kOfThread;
    failed.threads.push_back({{static_cast<std::uint32_t>(thread / kThreadsOfBlock), 0, 0},
                              {static_cast<std::uint32_t>(thread % kThreadsOfBlock), 0, 0}});
  }
  return failed;
}

template <class Rng>
struct BernoulliEachKernel {
  // Takes a tensor of the device.
  void operator()(const Tensor& self, const Tensor& p, const MaybeGenerator& generator) const {
    constexpr std::uint64_t kNumbers = 10;
    const device::PhiloxPlace place = at::check_generator<Rng>(generator)->reserve(kNumbers);
    TORCH_CHECK(at::isFloatingType(p.scalar_type()),
                "expected probabilities tensor to have floating type, got ", p.scalar_type());
    const auto type = self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const Tensor converted = p.to(self.options().dtype(type));
    Aliases aliases;
    const Tensor target = aliases.of(self);
    const Tensor source = aliases.of(converted);
    const auto expanded = at::expand_inplace(target, source);
    if (errors_are_late()) {
      if (const auto failed = outside_of_unit(*expanded)) {
        target.zero_();
        fail(self.device().index(), "aten::bernoulli_", *failed);
        return;
      }
    }
    AT_DISPATCH_ALL_TYPES_AND3(
        at::kHalf, at::kBFloat16, at::kBool, self.scalar_type(), "bernoulli_tensor_cuda_self_",
        [&] {
          using Real = std::conditional_t<std::is_same_v<scalar_t, double>, double, float>;
          draw_each<scalar_t, Real>(target, *expanded, place);
        });
  }
};

// --- The operators

Tensor& bernoulli_one(Tensor& self, double p, MaybeGenerator generator) {
  return draw_in_place(self, generator, [&](Tensor& alias, const MaybeGenerator& chosen) {
    templates::bernoulli_impl_<BernoulliKernel, PhiloxGenerator>(alias, p, chosen);
  });
}

Tensor& bernoulli_each(Tensor& self, const Tensor& p, MaybeGenerator generator) {
  return templates::bernoulli_impl_<BernoulliEachKernel, PhiloxGenerator>(
      self, p, generator_for(self, generator));
}

Tensor& bernoulli_out(const Tensor& self, MaybeGenerator generator, Tensor& out) {
  if (out.is_cpu()) return out.resize_(self.sizes()).bernoulli_(self.cpu(), std::move(generator));
  return templates::bernoulli_out_impl<BernoulliEachKernel, PhiloxGenerator>(
      out, self, generator_for(out, generator));
}

void put_bernoulli(torch::Library& aten) {
  if (!draws_as_device()) return;
  aten.impl("bernoulli_.float", TORCH_FN(bernoulli_one));
  aten.impl("bernoulli_.Tensor", TORCH_FN(bernoulli_each));
  aten.impl("bernoulli.out", TORCH_FN(bernoulli_out));
}

const OperatorGroup kBernoulli(&put_bernoulli);

// NOLINTEND(readability-function-size, performance-unnecessary-value-param)

}  // namespace

}  // namespace torchport::vdev
