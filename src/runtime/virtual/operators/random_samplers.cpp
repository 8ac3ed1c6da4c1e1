// Implements the distributions that draw as many numbers as they need for an element as CUDA does:
// Poisson, binomial, gamma and Dirichlet (aten/src/ATen/native/cuda/Distributions.cu).
//
// The methods of sampling are ATen's own (ATen/native/Distributions.h) and, for Poisson, cuRAND's
// (its device API's curand_poisson). A sample is accepted or not by a comparison of floats, so that
// where a GPU's logarithm is off in its last bit, one sample in millions may differ.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/Distributions.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/random_conversions.h"

namespace torchport::vdev {

// NOLINTBEGIN(readability-function-size, performance-unnecessary-value-param): ATen's macros of
// types are long, and its operators take generators by value.

namespace {

using at::Tensor;
using MaybeGenerator = std::optional<at::Generator>;

constexpr std::int64_t kSamplesOfTask = 512;

// The numbers of one subsequence, one after the other: cuRAND's curand(&state).
class Subsequence {
 public:
  Subsequence(const device::PhiloxPlace& place, std::uint64_t subsequence)
      : place_(place), subsequence_(subsequence) {}

  std::uint32_t word() {
    if (next_ == block_.size()) {
      block_ = place_.draw(subsequence_, blocks_++);
      next_ = 0;
    }
    return block_.at(next_++);
  }

  float uniform() { return uniform_float(word()); }

  // Of two normal numbers the second is kept for the next call.
  float normal() {
    if (kept_.has_value()) return *std::exchange(kept_, std::nullopt);
    const std::uint32_t radius = word();
    const std::uint32_t angle = word();
    float sine = 0;
    float cosine = 0;
    device::normal_floats(&radius, &angle, false, 1, &sine);
    device::normal_floats(&radius, &angle, true, 1, &cosine);
    kept_ = cosine;
    return sine;
  }

  // In double, of four words; none is kept.
  double normal_double() {
    PhiloxBatch batch;
    for (auto& words : batch.words) words[0] = word();
    double found = 0;
    DrawNormal<double>::convert(batch, 0, 1, &found);
    return found;
  }

 private:
  device::PhiloxPlace place_;
  std::uint64_t subsequence_;
  std::uint64_t blocks_ = 0;
  device::PhiloxBlock block_{};
  std::size_t next_ = block_.size();
  std::optional<float> kept_;
};

// --- Poisson: cuRAND's three methods, by the rate

// D. Knuth, The Art of Computer Programming, volume 2: numbers are multiplied until the product is
// below exp(-rate).
std::uint32_t poisson_of_products(Subsequence& numbers, float rate) {
  std::uint32_t count = 0;
  float product = std::exp(rate);
  do {
    ++count;
    product *= numbers.uniform();
  } while (static_cast<double>(product) > 1.0);
  return count - 1;
}

// An approximation of the regularised incomplete gamma function and of its inverse, with cuRAND's
// constants: it gives a candidate and its probability, and the exact probability accepts it.
struct GammaApproximation {
  float rate;
  float alpha;
  float beta;

  explicit GammaApproximation(float of_rate)
      : rate(of_rate),
        alpha(1.43248035075540910F / std::sqrt(of_rate - 0.12400979329415655F) +
              0.00025361074907033F),
        beta(1.97381164089999420F / std::sqrt(of_rate - 0.21096734870196546F) +
             0.94201734077887530F) {}

  [[nodiscard]] float up_to(float x) const {
    const float t = 1.0F + std::exp(alpha * (rate - x) - beta);
    return 1.0F / (t * t);
  }
  [[nodiscard]] float inverse(float y) const {
    const float t = beta + std::log(1.0F / std::sqrt(y) - 1.0F);
    return -t * (1.0F / alpha) + rate;
  }
};

std::uint32_t poisson_of_candidates(Subsequence& numbers, float rate) {
  constexpr float kMargin = 1.3F;
  constexpr double kLeast = 1e-20;
  const float log_rate = std::log(rate);
  while (true) {
    const float y = numbers.uniform();
    const float x = std::floor(GammaApproximation(rate).inverse(y));
    const float z = numbers.uniform();
    const GammaApproximation approximation(rate);
    const float most = (approximation.up_to(x + 1.0F) - approximation.up_to(x)) * kMargin;
    const auto log_factorial = static_cast<float>(std::lgamma(static_cast<double>(x) + 1.0));
    const float exact = std::exp(-rate + x * log_rate - log_factorial);
    if (z * most < exact && static_cast<double>(most) >= kLeast)
      return static_cast<std::uint32_t>(x);
  }
}

std::uint32_t poisson_of(Subsequence& numbers, double rate) {
  constexpr double kProductsBelow = 64;
  constexpr double kNormalAbove = 4000;
  constexpr double kHalf = 0.5;  // rounds to the nearest integer
  if (rate < kProductsBelow) return poisson_of_products(numbers, static_cast<float>(rate));
  if (rate > kNormalAbove)
    return static_cast<std::uint32_t>(std::sqrt(rate) * numbers.normal_double() + rate + kHalf);
  return poisson_of_candidates(numbers, static_cast<float>(rate));
}

// Calls sample(i, numbers) for each element of a tensor, whose thread draws from its own
// subsequence, in parallel.
template <class Sample>
void each_sample(std::int64_t count, const device::PhiloxPlace& place, const Sample& sample) {
  at::parallel_for(0, count, kSamplesOfTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Subsequence numbers(place, static_cast<std::uint64_t>(i));
      sample(i, numbers);
    }
  });
}

device::PhiloxPlace reserve(const Tensor& self, const MaybeGenerator& generator,
                            const char* operator_name) {
  auto* const philox = at::check_generator<PhiloxGenerator>(generator_for(self, generator));
  return philox->reserve(numbers_reserved_by(operator_name));
}

Tensor poisson(const Tensor& self, MaybeGenerator generator) {
  Tensor result = at::empty(self.sizes(), self.options());
  const device::PhiloxPlace place = reserve(self, generator, "aten::poisson");
  Aliases aliases;
  const Tensor rates = aliases.of(self).contiguous();
  Tensor counts = aliases.of(result);
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, self.scalar_type(), "poisson_cuda", [&] {
        const auto* const rate = rates.const_data_ptr<scalar_t>();
        auto* const to = counts.mutable_data_ptr<scalar_t>();
        each_sample(rates.numel(), place, [=](std::int64_t i, Subsequence& numbers) {
          TORCH_CHECK(rate[i] >= static_cast<scalar_t>(0),
                      "invalid Poisson rate, expected rate to be non-negative");
          using Real = at::acc_type<scalar_t, true>;
          to[i] = static_cast<scalar_t>(
              static_cast<Real>(poisson_of(numbers, static_cast<double>(rate[i]))));
        });
      });
  return result;
}

// Writes samples of gamma distributions into `to`, an alias without gaps like `alphas`.
void draw_gamma(const Tensor& alphas, Tensor& to, const device::PhiloxPlace& place) {
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, alphas.scalar_type(), "gamma_cuda", [&] {
        using Real = at::acc_type<scalar_t, true>;
        const auto* const alpha = alphas.const_data_ptr<scalar_t>();
        auto* const out = to.mutable_data_ptr<scalar_t>();
        each_sample(alphas.numel(), place, [=](std::int64_t i, Subsequence& numbers) {
          auto uniform = [&] { return numbers.uniform(); };
          auto normal = [&] { return numbers.normal(); };
          BaseSampler<Real, decltype(uniform)> uniforms(uniform);
          BaseSampler<Real, decltype(normal)> normals(normal);
          const auto sample = sample_gamma<scalar_t, Real, decltype(uniform), decltype(normal)>(
              alpha[i], uniforms, normals);
          constexpr auto kLeast = std::numeric_limits<scalar_t>::min();
          out[i] = kLeast > sample ? kLeast : static_cast<scalar_t>(sample);
        });
      });
}

Tensor standard_gamma(const Tensor& self, MaybeGenerator generator) {
  Tensor result = at::empty(self.sizes(), self.options());
  const device::PhiloxPlace place = reserve(self, generator, "aten::_standard_gamma");
  Aliases aliases;
  Tensor to = aliases.of(result);
  draw_gamma(aliases.of(self).contiguous(), to, place);
  return result;
}

Tensor sample_dirichlet(const Tensor& self, MaybeGenerator generator) {
  Tensor result = at::empty(self.sizes(), self.options());
  const device::PhiloxPlace place = reserve(self, generator, "aten::_sample_dirichlet");
  Aliases aliases;
  Tensor to = aliases.of(result);
  draw_gamma(aliases.of(self).contiguous(), to, place);
  const Tensor sums = to.sum(-1, true).expand_as(to).contiguous();
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, self.scalar_type(), "dirichlet_cuda", [&] {
        auto* const share = to.mutable_data_ptr<scalar_t>();
        const auto* const sum = sums.const_data_ptr<scalar_t>();
        constexpr auto kLeast = std::numeric_limits<scalar_t>::min();
        const auto most = static_cast<scalar_t>(1 - std::numeric_limits<scalar_t>::epsilon());
        for (std::int64_t i = 0; i < to.numel(); ++i) {
          const auto part = static_cast<scalar_t>(share[i] / sum[i]);
          share[i] = part < kLeast ? kLeast : (most < part ? most : part);
        }
      });
  return result;
}

// A number of 24 bits in [0, 1), of one word.
float uniform_below_one(std::uint32_t word) {
  constexpr int kBits = std::numeric_limits<float>::digits;
  constexpr std::uint32_t kMask = (std::uint32_t{1} << kBits) - 1;
  constexpr float kStep = 1.0F / static_cast<float>(std::uint32_t{1} << kBits);
  return static_cast<float>(word & kMask) * kStep;
}

// A thread makes several samples of its block, 128 apart, from one subsequence.
template <class T>
void draw_binomial(const T* counts, const T* chances, T* to, std::int64_t elements,
                   const device::PhiloxPlace& place) {
  using Real = at::acc_type<T, true>;
  constexpr std::int64_t kThreads = 128;
  constexpr std::int64_t kSamplesOfThread = 8;
  constexpr std::int64_t kElementsOfBlock = kThreads * kSamplesOfThread;
  const std::int64_t blocks = (elements + kElementsOfBlock - 1) / kElementsOfBlock;
  at::parallel_for(0, blocks * kThreads, kThreads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t thread = begin; thread < end; ++thread) {
      Subsequence numbers(place, static_cast<std::uint64_t>(thread));
      auto uniform = [&] { return uniform_below_one(numbers.word()); };
      BaseSampler<Real, decltype(uniform)> uniforms(uniform);
      const std::int64_t first = thread / kThreads * kElementsOfBlock + thread % kThreads;
      for (std::int64_t k = 0; k < kSamplesOfThread; ++k) {
        const std::int64_t i = first + k * kThreads;
        if (i >= elements) break;
        to[i] = static_cast<T>(
            sample_binomial<T, Real, decltype(uniform)>(counts[i], chances[i], uniforms));
      }
    }
  });
}

Tensor binomial(const Tensor& count, const Tensor& prob, MaybeGenerator generator) {
  Tensor result = at::empty(count.sizes(), count.options());
  Aliases aliases;
  Tensor to = aliases.of(result);
  const Tensor counts = aliases.of(count).contiguous();
  // A probability may be of the CPU: the iterator moves a scalar.
  const Tensor chances = aliases.of(prob).to(counts.scalar_type()).expand_as(counts).contiguous();
  if (counts.numel() == 0) return result;
  const device::PhiloxPlace place = reserve(count, generator, "aten::binomial");
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, count.scalar_type(), "binomial_cuda", [&] {
        draw_binomial(counts.const_data_ptr<scalar_t>(), chances.const_data_ptr<scalar_t>(),
                      to.mutable_data_ptr<scalar_t>(), counts.numel(), place);
      });
  return result;
}

void put_samplers(torch::Library& aten) {
  if (!draws_as_device()) return;
  aten.impl("poisson", TORCH_FN(poisson));
  aten.impl("_standard_gamma", TORCH_FN(standard_gamma));
  aten.impl("_sample_dirichlet", TORCH_FN(sample_dirichlet));
  aten.impl("binomial", TORCH_FN(binomial));
}

const OperatorGroup kSamplers(&put_samplers);

}  // namespace

// NOLINTEND(readability-function-size, performance-unnecessary-value-param)

}  // namespace torchport::vdev
