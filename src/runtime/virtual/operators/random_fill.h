// Fills tensors as CUDA's kernels of distributions do, whose threads draw from a subsequence of
// their own (aten/src/ATen/native/cuda/DistributionTemplates.h).
//
// The threads walk over the tensor together: in each round, thread t draws a block of kPerBlock
// numbers and writes them to the elements t, t + threads, t + 2 threads... of the round. How many
// threads there are depends on the device's multiprocessors, so that tensors above a few hundred
// thousand elements differ from one GPU to another.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <c10/util/SmallVector.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/core/philox_generator.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/random_conversions.h"
#include "runtime/virtual/watch/late_streams.h"

namespace torchport::vdev {

// How a kernel is divided among threads.
struct DrawGrid {
  std::uint64_t threads = 0;
  std::uint64_t rounds = 0;
  std::uint64_t numbers = 0;  // that a thread may draw
};

// For `elements` (at least 1) of which a thread writes `per_block` at a time, on a device of this
// process's profile.
[[nodiscard]] inline DrawGrid draw_grid(std::uint64_t elements, std::uint32_t per_block) {
  constexpr std::uint64_t kThreadsOfBlock = 256;
  constexpr std::uint64_t kNumbersOfDraw = 4;  // any draw of cuRAND uses at most four
  const devices::Profile& profile = *Runtime::get().profile();
  const std::uint64_t wanted = (elements + kThreadsOfBlock - 1) / kThreadsOfBlock;
  const std::uint64_t at_once = static_cast<std::uint64_t>(profile.multiprocessors) *
                                (profile.max_threads_per_multiprocessor / kThreadsOfBlock);
  DrawGrid grid;
  grid.threads = std::min(wanted, at_once) * kThreadsOfBlock;
  grid.rounds = (elements - 1) / (grid.threads * per_block) + 1;
  grid.numbers = grid.rounds * kNumbersOfDraw;
  return grid;
}

// The elements of a tensor by linear index, in the order in which a CUDA kernel counts them: along
// the smallest stride first.
template <class T>
class Elements {
 public:
  explicit Elements(const at::TensorIteratorBase& iterator)
      : data_(static_cast<char*>(iterator.data_ptr(0))),
        shape_(iterator.shape().begin(), iterator.shape().end()),
        strides_(iterator.strides(0).begin(), iterator.strides(0).end()),
        dense_(shape_.empty() || (shape_.size() == 1 && strides_[0] == sizeof(T))) {}

  // Calls write(T& element, i) for the `count` elements from `first` on.
  template <class Write>
  void each(std::uint64_t first, std::size_t count, const Write& write) const {
    if (dense_) {
      T* const at = reinterpret_cast<T*>(data_) + first;
      for (std::size_t i = 0; i < count; ++i) write(at[i], i);
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t rest = first + i;
      std::int64_t offset = 0;
      for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
        const auto size = static_cast<std::uint64_t>(shape_[dim]);
        offset += static_cast<std::int64_t>(rest % size) * strides_[dim];
        rest /= size;
      }
      write(*reinterpret_cast<T*>(data_ + offset), i);
    }
  }

 private:
  char* data_;
  c10::SmallVector<std::int64_t, 6> shape_;
  c10::SmallVector<std::int64_t, 6> strides_;  // bytes
  bool dense_;
};

// Calls write(first element, values, count) for all `elements`, in parallel.
template <class Draw, class Write>
void each_draw(const DrawGrid& grid, const device::PhiloxPlace& place, std::uint64_t elements,
               const Write& write) {
  constexpr std::size_t kSize = PhiloxBatch::kSize;
  constexpr std::int64_t kElementsOfTask = 32768;
  const std::uint64_t batches = (grid.threads + kSize - 1) / kSize;
  const auto tasks = static_cast<std::int64_t>(grid.rounds * batches);
  const auto grain = kElementsOfTask / static_cast<std::int64_t>(kSize * Draw::kPerBlock);
  at::parallel_for(0, tasks, grain, [&](std::int64_t begin, std::int64_t end) {
    PhiloxBatch batch;
    std::array<typename Draw::Value, kSize> values;
    for (auto task = static_cast<std::uint64_t>(begin); task < static_cast<std::uint64_t>(end);
         ++task) {
      const std::uint64_t round = task / batches;
      const std::uint64_t thread = task % batches * kSize;
      std::uint64_t first = round * grid.threads * Draw::kPerBlock + thread;
      if (first >= elements) continue;
      const std::size_t count =
          std::min({std::uint64_t{kSize}, grid.threads - thread, elements - first});
      batch.fill(place, thread, round, count);
      for (std::uint32_t draw = 0; draw < Draw::kPerBlock && first < elements; ++draw) {
        const std::size_t present = std::min<std::uint64_t>(count, elements - first);
        Draw::convert(batch, draw, present, values.data());
        write(first, values.data(), present);
        first += grid.threads;
      }
    }
  });
}

// Fills the first tensor of `iterator`, of element type T, with transform(drawn number).
template <class T, class Draw, class Transform>
void fill(at::TensorIteratorBase& iterator, PhiloxGenerator& generator,
          const Transform& transform) {
  const auto elements = static_cast<std::uint64_t>(iterator.numel());
  if (elements == 0) return;
  const DrawGrid grid = draw_grid(elements, Draw::kPerBlock);
  const device::PhiloxPlace place = generator.reserve(grid.numbers);
  if (!iterator.can_use_32bit_indexing()) {
    // Each part reserves numbers of its own; those of the whole are never drawn.
    for (auto& part : iterator.with_32bit_indexing()) fill<T, Draw>(part, generator, transform);
    return;
  }
  const Elements<T> target(iterator);
  using Value = Draw::Value;
  each_draw<Draw>(grid, place, elements,
                  [&](std::uint64_t first, const Value* values, std::size_t count) {
                    target.each(first, count,
                                [&](T& element, std::size_t i) { element = transform(values[i]); });
                  });
}

// Calls `draw` with the CPU's view of `self` and the generator for it, and returns `self`.
template <class Draw>
at::Tensor& draw_in_place(at::Tensor& self, const std::optional<at::Generator>& generator,
                          const Draw& draw) {
  Aliases aliases;
  at::Tensor alias = aliases.of(self);
  if (streams_are_late()) late::wrote(self);
  draw(alias, generator_for(self, generator));
  return self;
}

}  // namespace torchport::vdev
