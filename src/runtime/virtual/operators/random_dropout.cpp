// Implements fused dropout as CUDA's kernels do (aten/src/ATen/native/cuda/Dropout.cu).
//
// Where the memory of a tensor has no gaps and a vector of elements divides it, each thread serves
// a vector of neighbours, in the order of memory; otherwise elements far apart, as the
// distributions do, in the order of indices. Vectors are of 16 bytes since CUDA 12.8, and of four
// elements before.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/build_facts.h"
#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/random_fill.h"

namespace torchport::vdev {

// NOLINTBEGIN(readability-function-size, performance-unnecessary-value-param): ATen's macros of
// types are long, and its operators take generators by value.

namespace {

using at::Tensor;
using MaybeGenerator = std::optional<at::Generator>;
using Results = std::tuple<Tensor, Tensor>;

constexpr std::uint32_t kWords = 4;

// How many neighbours a thread serves; 1 if it serves none.
std::uint64_t vector_size(const Tensor& self, const Tensor& result) {
  if (!self.is_non_overlapping_and_dense() || !result.is_non_overlapping_and_dense()) return 1;
  constexpr long kFirstOf16Bytes = 12080;
  constexpr std::uint64_t kBytes = 16;
  const devices::Profile& profile = *Runtime::get().profile();
  const bool of_16_bytes = cuda_build_for(profile.major, profile.minor).cuda >= kFirstOf16Bytes;
  const auto element = static_cast<std::uint64_t>(self.element_size());
  std::uint64_t size = of_16_bytes ? kBytes / element : kWords;
  // A device's memory blocks are aligned for all types, so the offset in the storage decides.
  const auto address = static_cast<std::uint64_t>(self.storage_offset());
  const auto elements = static_cast<std::uint64_t>(self.numel());
  while (size > 1 && (address % size != 0 || elements % size != 0)) size /= 2;
  return size;
}

// Calls keep(index, number) for each element of tensors whose threads serve vectors. A thread draws
// a block for each four of them, or for a vector of two, whose other two numbers nobody uses.
template <class Keep>
void each_of_vectors(const DrawGrid& grid, const device::PhiloxPlace& place, std::uint64_t size,
                     std::uint64_t elements, const Keep& keep) {
  const std::uint64_t blocks_of_vector = (size + kWords - 1) / kWords;
  const std::uint64_t vectors = elements / size;
  constexpr std::int64_t kVectorsOfTask = 8192;
  at::parallel_for(0, static_cast<std::int64_t>(vectors), kVectorsOfTask,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (auto vector = static_cast<std::uint64_t>(begin);
                          vector < static_cast<std::uint64_t>(end); ++vector) {
                       const std::uint64_t round = vector / grid.threads;
                       device::PhiloxBlock drawn{};
                       for (std::uint64_t i = 0; i < size; ++i) {
                         if (i % kWords == 0)
                           drawn = place.draw(vector % grid.threads,
                                              round * blocks_of_vector + i / kWords);
                         keep(vector * size + i, uniform_float(drawn[i % kWords]));
                       }
                     }
                   });
}

// Writes the kept elements and the mask. The three are aliases with the same sizes; `by_memory`
// says that their memory is walked, and not their indices.
template <class T, class Mask, class Real>
struct Target {
  const T* source;
  T* result;
  Mask* mask;
  Real limit;
  Real scale;

  void operator()(std::uint64_t index, float number) const {
    const bool kept = static_cast<Real>(number) < limit;
    const Real value = static_cast<Real>(source[index]) * (kept ? 1.0F : 0.0F) * scale;
    result[index] = static_cast<T>(value);
    mask[index] = static_cast<Mask>(kept);
  }
};

template <class Mask>
Results drop(const Tensor& self, double keep, PhiloxGenerator& generator) {
  const auto mask_type = c10::CppTypeToScalarType<Mask>::value;
  Tensor mask = at::empty_like(self, self.options().dtype(mask_type));
  if (self.numel() == 0) return {self.clone(), mask};
  Tensor result = at::empty_like(self);
  const auto elements = static_cast<std::uint64_t>(self.numel());
  const DrawGrid grid = draw_grid(elements, kWords);
  const device::PhiloxPlace place = generator.reserve(grid.numbers);
  const std::uint64_t vector = vector_size(self, result);
  Aliases aliases;
  const Tensor source = aliases.of(self);
  Tensor target = aliases.of(result);
  Tensor target_mask = aliases.of(mask);
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, self.scalar_type(), "fused_dropout", [&] {
        using Real = at::acc_type<scalar_t, true>;
        const auto limit = static_cast<Real>(keep);
        const auto scale = static_cast<Real>(1.0 / limit);
        const auto write = [&](const Tensor& from, const Tensor& to, const Tensor& to_mask) {
          const Target<scalar_t, Mask, Real> each{from.const_data_ptr<scalar_t>(),
                                                  to.mutable_data_ptr<scalar_t>(),
                                                  to_mask.mutable_data_ptr<Mask>(), limit, scale};
          if (vector > 1) {
            each_of_vectors(grid, place, vector, elements, each);
            return;
          }
          each_draw<DrawUniform<float>>(
              grid, place, elements,
              [&](std::uint64_t first, const float* values, std::size_t count) {
                for (std::size_t i = 0; i < count; ++i) each(first + i, values[i]);
              });
        };
        if (vector > 1 || (self.is_contiguous() && result.is_contiguous())) {
          write(source, target, target_mask);
          return;
        }
        // By index: through copies that have the indices' order in memory.
        const Tensor from = source.contiguous();
        const Tensor to = at::empty_like(from);
        const Tensor to_mask = at::empty_like(from, from.options().dtype(mask_type));
        write(from, to, to_mask);
        target.copy_(to);
        target_mask.copy_(to_mask);
      });
  return {result, mask};
}

Results native_dropout(const Tensor& self, double p, std::optional<bool> train) {
  if (train.has_value() && !*train) return {self.clone(), at::ones_like(self, at::kBool)};
  if (p == 1) return {at::zeros_like(self), at::zeros_like(self, at::kBool)};
  const MaybeGenerator generator = generator_for(self, std::nullopt);
  return drop<bool>(self, 1.0 - p, *at::check_generator<PhiloxGenerator>(generator));
}

// `keep` is the probability that an element stays; this operator counts in that direction.
Results fused_dropout(const Tensor& self, double keep, MaybeGenerator generator) {
  if (draws_as_device()) {
    const MaybeGenerator chosen = generator_for(self, generator);
    return drop<std::uint8_t>(self, keep, *at::check_generator<PhiloxGenerator>(chosen));
  }
  const Tensor mask = at::empty_like(self, self.options().dtype(at::kByte));
  mask.bernoulli_(keep, std::move(generator));
  return {self * mask.to(self.scalar_type()) * (1.0 / keep), mask};
}

void put_dropout(torch::Library& aten) {
  aten.impl("_fused_dropout", TORCH_FN(fused_dropout));
  if (!draws_as_device()) return;
  aten.impl("native_dropout", TORCH_FN(native_dropout));
}

const OperatorGroup kDropout(&put_dropout);

}  // namespace

// NOLINTEND(readability-function-size, performance-unnecessary-value-param)

}  // namespace torchport::vdev
