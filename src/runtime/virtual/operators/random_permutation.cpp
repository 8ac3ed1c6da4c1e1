// Implements randperm as CUDA does (aten/src/ATen/native/cuda/Randperm.cu and Randperm.cuh): the
// numbers from 0 on are sorted by random keys, and where keys are the same, a thread shuffles the
// numbers that have it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <ATen/native/TensorFactories.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/random_integers.h"
#include "runtime/virtual/operators/workspaces_of_sorts.h"

namespace torchport::vdev {

// NOLINTBEGIN(readability-function-size, performance-unnecessary-value-param): ATen's macros of
// types are long, and its operators take generators by value.

namespace {

using at::Tensor;
using MaybeGenerator = std::optional<at::Generator>;

struct KeyedIndex {
  std::uint64_t key;
  std::int64_t number;
};

// How many bits of a key count, so that all keys differ with a probability of 0.9.
int bits_of_keys(std::int64_t n) {
  constexpr int kMost = 64;
  const double log_threshold_12 = std::log(0.9) * 12;
  const auto count = static_cast<double>(n);
  const double needed = std::log2(count - (6 * count * count + 1) / log_threshold_12);
  return std::min(kMost, static_cast<int>(std::ceil(needed)));
}

// The n keys, of which only the lowest bits are left.
template <class T>
std::vector<KeyedIndex> draw_keys(std::int64_t n, int bits, const MaybeGenerator& generator) {
  Tensor keys = at::empty({n}, at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value));
  draw_integers(keys, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), generator);
  const T* const drawn = keys.const_data_ptr<T>();
  constexpr int kAll = 64;
  const std::uint64_t mask = bits == kAll ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  // The sort of signed keys by all of their bits puts the negative ones first.
  const std::uint64_t sign =
      bits == std::numeric_limits<T>::digits + 1 ? std::uint64_t{1} << (bits - 1) : 0;
  std::vector<KeyedIndex> keyed(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < keyed.size(); ++i)
    keyed[i] = {(static_cast<std::uint64_t>(drawn[i]) & mask) ^ sign, static_cast<std::int64_t>(i)};
  return keyed;
}

// A stable sort by the lowest bits of the keys, a digit at a time.
void sort_by_key(std::vector<KeyedIndex>& keyed, int bits) {
  constexpr int kDigit = 11;
  constexpr std::size_t kValues = std::size_t{1} << kDigit;
  std::vector<KeyedIndex> sorted(keyed.size());
  for (int shift = 0; shift < bits; shift += kDigit) {
    const auto digit = [shift](const KeyedIndex& one) { return one.key >> shift & (kValues - 1); };
    std::array<std::size_t, kValues + 1> ends{};
    for (const KeyedIndex& one : keyed) ++ends[digit(one) + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    for (const KeyedIndex& one : keyed) sorted[ends[digit(one)]++] = one;
    keyed.swap(sorted);
  }
}

// The numbers that one thread draws, one after the other.
class Draws {
 public:
  Draws(const device::PhiloxPlace& place, std::uint64_t subsequence)
      : place_(place), subsequence_(subsequence) {}
  std::uint32_t operator()() {
    const std::uint64_t at = drawn_++;
    if (at % block_.size() == 0) block_ = place_.draw(subsequence_, at / block_.size());
    return block_[at % block_.size()];
  }

 private:
  device::PhiloxPlace place_;
  std::uint64_t subsequence_;
  std::uint64_t drawn_ = 0;
  device::PhiloxBlock block_{};
};

// Shuffles the numbers of each key that occurs more than once (Fisher and Yates).
void shuffle_same_keys(std::vector<KeyedIndex>& keyed, const device::PhiloxPlace& place) {
  for (std::size_t first = 0, end = 0; first < keyed.size(); first = end) {
    end = first + 1;
    while (end < keyed.size() && keyed[end].key == keyed[first].key) ++end;
    if (end - first == 1) continue;
    Draws draw(place, first);
    for (std::size_t i = end - first - 1; i > 0; --i)
      std::swap(keyed[first + i].number, keyed[first + draw() % (i + 1)].number);
  }
}

Tensor& randperm_out(std::int64_t n, MaybeGenerator generator, Tensor& out) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
  at::native::check_supported_max_int_with_precision(n, out);
  // It permutes an arange() of the same type.
  TORCH_CHECK_NOT_IMPLEMENTED(!out.is_complex() && out.scalar_type() != at::kBool,
                              "\"arange_cuda\" not implemented for '", out.scalar_type(), "'");
  out.resize_({n});
  if (n == 0) return out;  // whatever the generator
  const MaybeGenerator chosen = generator_for(out, generator);
  constexpr int kIntBits = 32;
  const int bits = bits_of_keys(n);
  const auto taken =
      take_workspaces(bytes_of_permutation(n, static_cast<std::int64_t>(out.element_size()), bits),
                      out.device().index());
  std::vector<KeyedIndex> keyed = bits <= kIntBits ? draw_keys<std::int32_t>(n, bits, chosen)
                                                   : draw_keys<std::int64_t>(n, bits, chosen);
  sort_by_key(keyed, bits);
  const device::PhiloxPlace place =
      at::check_generator<PhiloxGenerator>(chosen)->reserve(static_cast<std::uint64_t>(n));
  shuffle_same_keys(keyed, place);
  Tensor numbers = at::empty({n}, at::TensorOptions().dtype(at::kLong));
  auto* const to = numbers.mutable_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < keyed.size(); ++i) to[i] = keyed[i].number;
  Aliases aliases;
  aliases.of(out).copy_(numbers);
  return out;
}

void put_permutation(torch::Library& aten) {
  if (!draws_as_device()) return;
  aten.impl("randperm.generator_out", TORCH_FN(randperm_out));
}

const OperatorGroup kPermutation(&put_permutation);

}  // namespace

// NOLINTEND(readability-function-size, performance-unnecessary-value-param)

}  // namespace torchport::vdev
