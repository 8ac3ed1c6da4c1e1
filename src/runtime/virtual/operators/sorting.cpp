// Gives sort, topk and kthvalue CUDA's order of equal elements.
//
// aten/src/ATen/native/cuda/{SortUtils.cuh, TensorTopK.cu, Sorting.cu}, and a recording of an
// NVIDIA H200 (tests/fidelity): up to 32 elements are sorted by a network that does not keep the
// order of equal ones, more of them by sorts that do; topk collects what is above the smallest of
// its values in the order of the indices, then as many as it needs of those that equal it, and
// sorts these; kthvalue gives the first index.
#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/stack.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/kthvalue.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>
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

constexpr std::size_t kNetworkSize = 32;

template <class T>
struct Keyed {
  T key{};
  std::int64_t index = 0;
  bool valid = false;  // of the network's 32 places, those that are used
};

// The bitonic network of CUDA's small sort. Pairs of one step do not overlap, so that their order
// does not matter.
template <class T>
class Network {
 public:
  Network(const T* keys, const std::int64_t* indices, std::size_t count, bool descending)
      : descending_(descending) {
    for (std::size_t i = 0; i < count; ++i) places_.at(i) = {keys[i], indices[i], true};
    for (std::size_t size = 2; size < kNetworkSize; size *= 2) {
      for (std::size_t stride = size / 2; stride > 0; stride /= 2) step(stride, size / 2);
    }
    for (std::size_t stride = kNetworkSize / 2; stride > 0; stride /= 2) step(stride, 0);
  }
  [[nodiscard]] const Keyed<T>& operator[](std::size_t i) const { return places_.at(i); }

 private:
  // Pairs of threads for which `reversed` is set are put the other way round.
  void step(std::size_t stride, std::size_t reversed) {
    for (std::size_t thread = 0; thread < kNetworkSize / 2; ++thread) {
      const std::size_t at = 2 * thread - (thread & (stride - 1));
      Keyed<T>& a = places_.at(at);
      Keyed<T>& b = places_.at(at + stride);
      const bool before = descending_ ? is_less(b.key, a.key) : is_less(a.key, b.key);
      const bool in_order = (before && a.valid) || !b.valid;
      if (in_order == ((thread & reversed) != 0)) std::swap(a, b);
    }
  }

  bool descending_;
  std::array<Keyed<T>, kNetworkSize> places_{};
};

// Sorts `count` keys and their indices as CUDA does.
template <class T>
void sort_row(T* keys, std::int64_t* indices, std::size_t count, bool descending) {
  if (count <= 1) return;
  if (count <= kNetworkSize) {
    const Network<T> sorted(keys, indices, count, descending);
    for (std::size_t i = 0; i < count; ++i) {
      keys[i] = sorted[i].key;
      indices[i] = sorted[i].index;
    }
    return;
  }
  std::vector<Keyed<T>> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = {keys[i], indices[i], true};
  std::stable_sort(all.begin(), all.end(), [descending](const Keyed<T>& a, const Keyed<T>& b) {
    return descending ? is_less(b.key, a.key) : is_less(a.key, b.key);
  });
  for (std::size_t i = 0; i < count; ++i) {
    keys[i] = all[i].key;
    indices[i] = all[i].index;
  }
}

// Sorts values and indices, whose elements belong together, along a dimension.
void sort_together(const Tensor& values, const Tensor& indices, std::int64_t dim, bool descending) {
  const Tensor keys = rows_of(values, dim);
  const Tensor places = rows_of(indices, dim);
  const std::int64_t count = keys.size(1);
  AT_DISPATCH_ALL_TYPES_AND3(
      at::kHalf, at::kBFloat16, at::kBool, values.scalar_type(), "sortKeyValueInplace", [&] {
        auto* const key = keys.mutable_data_ptr<scalar_t>();
        auto* const place = places.mutable_data_ptr<std::int64_t>();
        at::parallel_for(0, keys.size(0), kRowsOfTask, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row)
            sort_row(key + row * count, place + row * count, static_cast<std::size_t>(count),
                     descending);
        });
      });
  put_rows(values, dim, keys);
  put_rows(indices, dim, places);
}

// Whether a network sorts this dimension.
bool takes_network(const Tensor& self, std::int64_t dim) {
  return self.dim() > 0 && self.size(dim) > 1 &&
         self.size(dim) <= static_cast<std::int64_t>(kNetworkSize) && self.numel() > 0;
}

// --- sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False), and its out=

// The values and indices of a stable sort, in the order of the network where that sorts.
void reorder(const Tensor& self, const Tensor& values, const Tensor& indices, std::int64_t dim,
             bool descending) {
  if (!takes_network(self, dim)) return;
  values.copy_(self);
  const std::int64_t wrapped = c10::maybe_wrap_dim(dim, self.dim());
  std::vector<std::int64_t> shape(static_cast<std::size_t>(self.dim()), 1);
  shape[static_cast<std::size_t>(wrapped)] = self.size(wrapped);
  indices.copy_(at::arange(self.size(wrapped), indices.options()).view(shape).expand_as(indices));
  sort_together(values, indices, dim, descending);
}

void sort(Stack* stack) {
  constexpr std::size_t kArguments = 4;
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor self = arguments[0].toTensor();
  const std::int64_t dim = arguments[2].toInt();
  const bool descending = arguments[3].toBool();
  const auto [values, indices] = at::sort(self, /*stable=*/true, dim, descending);
  reorder(self, values, indices, dim, descending);
  stack->emplace_back(values);
  stack->emplace_back(indices);
}

void sort_out(Stack* stack) {
  constexpr std::size_t kArguments = 6;
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor self = arguments[0].toTensor();
  const std::int64_t dim = arguments[2].toInt();
  const bool descending = arguments[3].toBool();
  Tensor values = arguments[4].toTensor();
  Tensor indices = arguments[5].toTensor();
  at::sort_out(values, indices, self, /*stable=*/true, dim, descending);
  reorder(self, values, indices, dim, descending);
  stack->emplace_back(values);
  stack->emplace_back(indices);
}

template <Compute kCompute>
Compute choose_sort(const IValue* arguments) {
  const bool is_stable = arguments[1].isBool() && arguments[1].toBool();
  return is_stable || arguments[0].toTensor().is_complex() ? nullptr : kCompute;
}

// --- topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True), and its out=

// Puts CUDA's choice of `k` elements of a row into values and indices, which hold any choice.
template <class T>
void choose_row(const T* row, std::size_t length, T* values, std::int64_t* indices, std::size_t k,
                bool largest) {
  const auto above = [largest](T a, T b) { return largest ? is_less(b, a) : is_less(a, b); };
  T last = values[0];
  for (std::size_t i = 1; i < k; ++i) {
    if (above(last, values[i])) last = values[i];
  }
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < k; ++i) {
    if (above(values[i], last)) chosen.push_back(indices[i]);
  }
  std::sort(chosen.begin(), chosen.end());
  for (std::size_t i = 0; i < length && chosen.size() < k; ++i) {
    if (is_same(row[i], last)) chosen.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < k; ++i) {
    indices[i] = chosen[i];
    values[i] = row[chosen[i]];
  }
}

void choose_as_cuda(const Tensor& self, const Tensor& values, const Tensor& indices,
                    std::int64_t dim, bool largest, bool sorted) {
  if (self.dim() == 0 || values.numel() == 0) return;
  const Tensor from = rows_of(self, dim);
  const Tensor keys = rows_of(values, dim);
  const Tensor places = rows_of(indices, dim);
  const std::int64_t length = from.size(1);
  const std::int64_t k = keys.size(1);
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, self.scalar_type(), "topk_out_cuda", [&] {
    const auto* const row = from.const_data_ptr<scalar_t>();
    auto* const key = keys.mutable_data_ptr<scalar_t>();
    auto* const place = places.mutable_data_ptr<std::int64_t>();
    at::parallel_for(0, keys.size(0), kRowsOfTask, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        choose_row(row + i * length, static_cast<std::size_t>(length), key + i * k, place + i * k,
                   static_cast<std::size_t>(k), largest);
        if (sorted) sort_row(key + i * k, place + i * k, static_cast<std::size_t>(k), largest);
      }
    });
  });
  put_rows(values, dim, keys);
  put_rows(indices, dim, places);
}

template <std::size_t kArguments>
void topk(Stack* stack) {
  constexpr std::size_t kInputs = 5;
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor self = arguments[0].toTensor();
  const std::int64_t k = arguments[1].toInt();
  const std::int64_t dim = arguments[2].toInt();
  const bool largest = arguments[3].toBool();
  Tensor values;
  Tensor indices;
  if constexpr (kArguments == kInputs) {
    std::tie(values, indices) = at::topk(self, k, dim, largest, /*sorted=*/false);
  } else {
    values = arguments[kInputs].toTensor();
    indices = arguments[kInputs + 1].toTensor();
    at::topk_out(values, indices, self, k, dim, largest, /*sorted=*/false);
  }
  choose_as_cuda(self, values, indices, dim, largest, arguments[4].toBool());
  stack->emplace_back(values);
  stack->emplace_back(indices);
}

// --- kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False), and its out=

template <std::size_t kArguments>
void kthvalue(Stack* stack) {
  constexpr std::size_t kInputs = 4;
  const std::vector<IValue> arguments = torch::jit::pop(*stack, kArguments);
  const Tensor self = arguments[0].toTensor();
  const std::int64_t k = arguments[1].toInt();
  const std::int64_t dim = arguments[2].toInt();
  const bool keeps = arguments[3].toBool();
  Tensor values;
  Tensor indices;
  if constexpr (kArguments == kInputs) {
    std::tie(values, indices) = at::kthvalue(self, k, dim, keeps);
  } else {
    values = arguments[kInputs].toTensor();
    indices = arguments[kInputs + 1].toTensor();
    at::kthvalue_out(values, indices, self, k, dim, keeps);
  }
  if (self.dim() > 0 && values.numel() > 0) {
    const Tensor wide = keeps ? values : values.unsqueeze(dim);
    Tensor equal = at::eq(self, wide);
    if (self.is_floating_point())
      equal = equal.logical_or_(self.isnan().logical_and_(wide.isnan()));
    indices.copy_(equal.to(at::kByte).argmax(dim, keeps));
  }
  stack->emplace_back(values);
  stack->emplace_back(indices);
}

template <Compute kCompute>
Compute always(const IValue* arguments) {
  return arguments[0].toTensor().is_complex() ? nullptr : kCompute;
}

void put_sorting(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "sort", "stable", &choose_sort<&sort>);
  put_choice(aten, "sort", "values_stable", &choose_sort<&sort_out>);
  put_choice(aten, "topk", "", &always<&topk<5>>);
  put_choice(aten, "topk", "values", &always<&topk<7>>);
  put_choice(aten, "kthvalue", "", &always<&kthvalue<4>>);
  put_choice(aten, "kthvalue", "values", &always<&kthvalue<6>>);
}

const OperatorGroup kSorting(&put_sorting);

}  // namespace

// NOLINTEND(readability-function-size)

}  // namespace torchport::vdev
