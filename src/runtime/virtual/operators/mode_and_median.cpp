// Gives mode and median along a dimension CUDA's choice among equals.
//
// aten/src/ATen/native/cuda/{TensorModeKernel.cuh, TensorModeKernel.cu, Sorting.cu}, and a
// recording of an NVIDIA H200 (tests/fidelity). Of values that are equally frequent, mode takes
// that whose thread comes first when a block reduces its counts in a tree, and the last of its
// indices; from 2,049 elements it sorts: the smallest value, and the first of its indices. The
// index of a median is that of the thread that writes last. In a warp that is the first one of its
// upper half; which of several warps is last is a race, and here the first warp wins.
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/stack.h>
#include <ATen/ops/median.h>
#include <ATen/ops/mode.h>
#include <ATen/ops/nanmedian.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/rows.h"

namespace torchport::vdev {

// NOLINTBEGIN(readability-function-size): ATen's macros of types are long.

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

constexpr std::int64_t kLanesOfWarp = 32;
constexpr std::int64_t kMostOfBlock = 2048;  // elements, two for each thread

// When a tree of steps of 16, 8, 4, 2 and 1 reduces 32 numbers, the one of two that comes first in
// this order stays: that of the bits from the lowest to the highest.
std::int64_t rank_in_tree(std::int64_t lane) {
  std::int64_t rank = 0;
  for (std::int64_t bit = 1; bit < kLanesOfWarp; bit *= 2) rank = rank * 2 + (lane / bit) % 2;
  return rank;
}

// The rank of a place of the sorted elements among those with the same count: each thread has two,
// the warps are reduced first, and then their results.
std::int64_t rank_in_block(std::int64_t place) {
  const std::int64_t thread = place / 2;
  return (rank_in_tree(thread / kLanesOfWarp) * kLanesOfWarp +
          rank_in_tree(thread % kLanesOfWarp)) *
             2 +
         place % 2;
}

// The place in `sorted` of the most frequent value.
template <class T>
std::int64_t place_of_mode(const std::vector<T>& sorted) {
  const auto count = static_cast<std::int64_t>(sorted.size());
  std::int64_t best = 0;
  std::int64_t equal = 0;
  std::int64_t most = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    equal = sorted[i] == sorted[i - 1] ? equal + 1 : 0;
    if (equal < most) continue;
    if (equal > most || (count <= kMostOfBlock && rank_in_block(i) < rank_in_block(best))) best = i;
    most = equal;
  }
  return best;
}

// Writes the mode of a row. An index of NaN, which equals nothing, is 0.
template <class T>
void mode_of_row(const T* row, std::int64_t count, T& value, std::int64_t& index) {
  std::vector<T> sorted(row, row + count);
  // NaN last, in any order.
  const auto numbers = std::partition(sorted.begin(), sorted.end(), [](T x) { return !is_nan(x); });
  std::sort(sorted.begin(), numbers);
  value = sorted[place_of_mode(sorted)];
  index = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (row[i] != value) continue;
    index = i;
    if (count > kMostOfBlock) break;
  }
}

// The index of the value that is a row's median.
template <class T>
std::int64_t index_of_median(const T* row, std::int64_t count, T value) {
  std::int64_t first = 0;
  while (first + 1 < count && !is_same(row[first], value)) ++first;
  const std::int64_t upper = first / kLanesOfWarp * kLanesOfWarp + kLanesOfWarp / 2;
  for (std::int64_t i = std::max(first, upper); i < std::min(count, upper + kLanesOfWarp / 2);
       ++i) {
    if (is_same(row[i], value)) return i;
  }
  return first;
}

// Calls `choose` with each row, and its value and index, of any type.
template <class Choose>
void for_rows(const Tensor& self, std::int64_t dim, const Tensor& values, const Tensor& indices,
              const Choose& choose) {
  const Tensor from = rows_of(self, dim);
  const Tensor keys = rows_of(values, dim);
  const Tensor places = rows_of(indices, dim);
  const std::int64_t count = from.size(1);
  AT_DISPATCH_ALL_TYPES_AND3(
      at::kHalf, at::kBFloat16, at::kBool, self.scalar_type(), "choose_of_row", [&] {
        const auto* const row = from.const_data_ptr<scalar_t>();
        auto* const key = keys.mutable_data_ptr<scalar_t>();
        auto* const place = places.mutable_data_ptr<std::int64_t>();
        at::parallel_for(0, from.size(0), kRowsOfTask, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i)
            choose(row + i * count, count, key[i], place[i]);
        });
      });
  put_rows(values, dim, keys);
  put_rows(indices, dim, places);
}

// Of (self, dim, keepdim), and the same with values and indices to write into.
constexpr std::size_t kInputsAlongDim = 3;

struct AlongDim {
  Tensor self;
  std::int64_t dim;
  bool keeps;
  Tensor values, indices;

  explicit AlongDim(const std::vector<IValue>& arguments)
      : self(arguments[0].toTensor()), dim(arguments[1].toInt()), keeps(arguments[2].toBool()) {
    if (arguments.size() == kInputsAlongDim) return;
    values = arguments[kInputsAlongDim].toTensor();
    indices = arguments[kInputsAlongDim + 1].toTensor();
  }
  [[nodiscard]] Tensor with_dim(const Tensor& tensor) const {
    return keeps ? tensor : tensor.unsqueeze(dim);
  }
};

template <std::size_t kArguments>
void choose_mode(Stack* stack) {
  AlongDim call(torch::jit::pop(*stack, kArguments));
  // The shapes and checks are those of one element.
  const Tensor one = call.self.narrow(call.dim, 0, 1);
  if (call.values.defined())
    at::mode_out(call.values, call.indices, one, call.dim, call.keeps);
  else
    std::tie(call.values, call.indices) = at::mode(one, call.dim, call.keeps);
  for_rows(call.self, call.dim, call.with_dim(call.values), call.with_dim(call.indices),
           [](const auto* row, std::int64_t count, auto& value, std::int64_t& index) {
             mode_of_row(row, count, value, index);
           });
  stack->emplace_back(call.values);
  stack->emplace_back(call.indices);
}

template <bool kIgnoresNan>
void choose_median(Stack* stack) {
  AlongDim call(torch::jit::pop(*stack, kInputsAlongDim + 2));
  auto& [self, dim, keeps, values, indices] = call;
  if constexpr (kIgnoresNan)
    at::nanmedian_out(values, indices, self, dim, keeps);
  else
    at::median_out(values, indices, self, dim, keeps);
  for_rows(self, dim, call.with_dim(values), call.with_dim(indices),
           [](const auto* row, std::int64_t count, auto& value, std::int64_t& index) {
             index = index_of_median(row, count, value);
           });
  stack->emplace_back(values);
  stack->emplace_back(indices);
}

// There is something to choose, and `dim` is one of the dimensions.
template <Compute kCompute>
Compute where_several(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const std::int64_t dim = arguments[1].toInt();
  const bool is_one = self.dim() > 0 && dim < self.dim() && dim >= -self.dim();
  return is_one && self.numel() > 0 && self.size(dim) > 1 && !self.is_complex() ? kCompute
                                                                                : nullptr;
}

void put_mode_and_median(torch::Library& aten) {
  constexpr std::size_t kWithOut = kInputsAlongDim + 2;
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "mode", "", &where_several<&choose_mode<kInputsAlongDim>>);
  put_choice(aten, "mode", "values", &where_several<&choose_mode<kWithOut>>);
  // The forms without values and indices to write into call these.
  put_choice(aten, "median", "dim_values", &where_several<&choose_median<false>>);
  put_choice(aten, "nanmedian", "dim_values", &where_several<&choose_median<true>>);
}

const OperatorGroup kModeAndMedian(&put_mode_and_median);

}  // namespace

// NOLINTEND(readability-function-size)

}  // namespace torchport::vdev
