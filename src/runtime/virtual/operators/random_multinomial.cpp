// Implements multinomial as CUDA does.
//
// Without replacement, and for one sample, ATen's own code draws exponential numbers on the device
// and takes the largest quotients (aten/src/ATen/native/Distributions.cpp). Several samples with
// replacement are numbers in the sums of the probabilities, of which each thread draws one
// (aten/src/ATen/native/cuda/MultinomialKernel.cu). The sums of float32 and float64 have another
// order here, so that a number within a few roundings of a sum may belong to its neighbour there.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/multinomial_native.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/errors/bad_values.h"
#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/operators/half_scans.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/random_conversions.h"

namespace torchport::vdev {

// NOLINTBEGIN(readability-function-size, performance-unnecessary-value-param): ATen's macros of
// types are long, and its operators take generators by value.

namespace {

using at::Tensor;
using MaybeGenerator = std::optional<at::Generator>;

// The sum of a row in the type, as a block of threads adds it up (renormRowsL1 and
// block_reduce.cuh): the threads, the warps, one warp of their sums. A sum of many float16 numbers
// differs by some per cent from that of another order, and may be infinite.
template <class T>
T sum_of_block(const std::vector<T>& row) {
  constexpr std::size_t kWarp = 32;
  constexpr std::size_t kMostThreads = 1024;
  const std::size_t threads = std::min(kMostThreads, (row.size() + kWarp - 1) / kWarp * kWarp);
  const auto warp_sum = [](T* lanes) {
    for (std::size_t offset = kWarp / 2; offset > 0; offset /= 2) {
      for (std::size_t lane = 0; lane < offset; ++lane)
        lanes[lane] = lanes[lane] + lanes[lane + offset];
    }
    return lanes[0];
  };
  std::vector<T> sums(threads, static_cast<T>(0));
  for (std::size_t i = 0; i < row.size(); ++i) sums[i % threads] = sums[i % threads] + row[i];
  std::array<T, kWarp> warps;
  warps.fill(static_cast<T>(0));
  for (std::size_t first = 0; first < threads; first += kWarp)
    warps[first / kWarp] = warp_sum(sums.data() + first);
  return warp_sum(warps.data());
}

// Writes the probabilities of a row divided by their sum. Raises c10::Error with the CPU's words
// for what is no distribution.
template <class T>
void normalize_row(const T* weights, std::int64_t stride, std::int64_t count, T* parts) {
  std::vector<T> row(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const T weight = row[static_cast<std::size_t>(i)] = weights[i * stride];
    TORCH_CHECK(weight >= static_cast<T>(0),
                "invalid multinomial distribution (encountering probability entry < 0)");
    TORCH_CHECK(std::isfinite(static_cast<double>(weight)),
                "invalid multinomial distribution (encountering probability entry = infinity or "
                "NaN)");
  }
  const T total = sum_of_block(row);
  TORCH_CHECK(total > static_cast<T>(0) && std::isfinite(static_cast<double>(total)),
              "invalid multinomial distribution (sum of probabilities <= 0)");
  for (std::int64_t i = 0; i < count; ++i) parts[i] = row[static_cast<std::size_t>(i)] / total;
}

// The probabilities of distributions, each divided by their sum, and the sums up to each of them.
// Both are matrices of a distribution in each row.
struct NormalizedRows {
  Tensor parts;
  Tensor sums;

  explicit NormalizedRows(const Tensor& weights)
      : parts(at::empty(weights.sizes(), weights.options())) {
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, weights.scalar_type(), "renormRows_cuda", [&] {
          const auto* const from = weights.const_data_ptr<scalar_t>();
          auto* const to = parts.mutable_data_ptr<scalar_t>();
          at::parallel_for(0, weights.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row)
              normalize_row(from + row * weights.stride(0), weights.stride(1), weights.size(1),
                            to + row * weights.size(1));
          });
        });
    sums = at::isReducedFloatingType(parts.scalar_type()) ? sums_as_cuda(parts) : parts.cumsum(1);
  }
};

// The first category whose sum reaches `number`; never one without probability.
template <class T>
std::int64_t category_at(const T* parts, const T* sums, std::int64_t count, T number) {
  auto found = std::lower_bound(sums, sums + count, number) - sums;
  if (found == count) --found;
  while (found >= 1 && parts[found] == static_cast<T>(0)) --found;
  return found;
}

// `weights` is a matrix of a distribution in each row, `samples` one of as many rows; both are
// aliases.
void sample(const Tensor& weights, Tensor& samples, PhiloxGenerator& generator) {
  constexpr std::int64_t kThreadsOfBlock = 128;
  constexpr std::int64_t kMostRows = 65535;  // the height of a grid
  constexpr std::uint64_t kNumbers = 4;
  const std::int64_t rows = weights.size(0);
  const std::int64_t count = samples.size(1);
  const std::int64_t height = std::min(rows, kMostRows);
  const std::int64_t width = (count + kThreadsOfBlock - 1) / kThreadsOfBlock * kThreadsOfBlock;
  const auto rounds = static_cast<std::uint64_t>((rows - 1) / height + 1);
  const device::PhiloxPlace place = generator.reserve(rounds * kNumbers);
  auto* const results = samples.mutable_data_ptr<std::int64_t>();
  const NormalizedRows distributions(weights);
  const std::int64_t categories = weights.size(1);
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, weights.scalar_type(), "multinomial_kernel_cuda", [&] {
        const auto* const parts = distributions.parts.const_data_ptr<scalar_t>();
        const auto* const sums = distributions.sums.const_data_ptr<scalar_t>();
        at::parallel_for(0, rows, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row) {
            const auto round = static_cast<std::uint64_t>(row / height);
            const std::int64_t at = row * categories;
            for (std::int64_t i = 0; i < count; ++i) {
              const auto thread = static_cast<std::uint64_t>(row % height * width + i);
              const float number = uniform_float(place.draw(thread, round)[0]);
              results[row * count + i] =
                  category_at(parts + at, sums + at, categories, static_cast<scalar_t>(number));
            }
          }
        });
      });
}

// What the kernels assert of weights that are no distribution (MultinomialKernel.cu): none below 0
// when a row is divided by its sum, and a sum above 0.
void assert_distribution(c10::DeviceIndex device, const Tensor& weights, std::string reason) {
  const bool negative = weights.lt(0).any().item<bool>();
  fail(device, "aten::multinomial",
       {.file = "MultinomialKernel.cu",
        .line = negative ? 0 : 112,
        .kernel = negative ? "renormRowsL1" : "binarySearchForMultinomial",
        .condition = negative ? "! (val < zero)" : "cumdist[size - 1] > static_cast<scalar_t>(0)",
        .threads = all_threads(1, 1),
        .reason = std::move(reason)});
}

Tensor& multinomial_out(const Tensor& self, std::int64_t count, bool replacement,
                        MaybeGenerator generator, Tensor& out) {
  constexpr std::int64_t kMostCategories = 1 << 24;
  std::optional<c10::Device> common;
  const std::array<std::pair<const Tensor*, const char*>, 2> checked{
      {{&out, "out"}, {&self, "self"}}};
  for (const auto& [tensor, name] : checked)
    c10::impl::check_and_update_common_device(common, *tensor, "wrapper_CUDA_out_multinomial_out",
                                              name);
  const bool is_sampled = replacement && count > 1 && self.dim() > 0 && self.dim() <= 2 &&
                          self.size(-1) <= kMostCategories && self.numel() > 0 &&
                          at::isFloatingType(self.scalar_type()) &&
                          out.scalar_type() == at::kLong && out.device() == self.device();
  // Also where ATen raises an error.
  if (!is_sampled) return at::native::multinomial_out(self, count, replacement, generator, out);
  const MaybeGenerator chosen = generator_for(self, generator);
  const std::int64_t rows = self.dim() == 1 ? 1 : self.size(0);
  Tensor samples = at::empty({rows, count}, at::TensorOptions().dtype(at::kLong));
  Aliases aliases;
  const Tensor weights = aliases.of(self);
  try {
    sample(weights.dim() == 1 ? weights.unsqueeze(0) : weights, samples,
           *at::check_generator<PhiloxGenerator>(chosen));
  } catch (const c10::Error& error) {
    if (!errors_are_late()) throw;
    samples.zero_();
    assert_distribution(self.device().index(), weights, error.msg());
  }
  if (self.dim() == 1) {
    out.resize_({count});
    samples = samples.squeeze(0);
  } else {
    out.resize_({rows, count});
  }
  Aliases results;
  results.of(out).copy_(samples);
  return out;
}

Tensor multinomial(const Tensor& self, std::int64_t count, bool replacement,
                   MaybeGenerator generator) {
  Tensor result = at::empty({0}, self.options().dtype(at::kLong));
  multinomial_out(self, count, replacement, std::move(generator), result);
  return result;
}

void put_multinomial(torch::Library& aten) {
  if (!draws_as_device()) return;
  aten.impl("multinomial", TORCH_FN(multinomial));
  aten.impl("multinomial.out", TORCH_FN(multinomial_out));
}

const OperatorGroup kMultinomial(&put_multinomial);

}  // namespace

// NOLINTEND(readability-function-size, performance-unnecessary-value-param)

}  // namespace torchport::vdev
