#include "runtime/virtual/operators/workspaces_of_sorts.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/without_data/meta_aliases.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using SortBlocks = c10::SmallVector<std::int64_t, 2>;

constexpr std::int64_t kIndexBytes = 8;  // of an int64

// What CUB's radix sort takes for `count` keys and values of these bytes. A pass sorts eight bits.
std::int64_t radix_sort_bytes(std::int64_t count, std::int64_t key, std::int64_t value,
                              std::int64_t bits) {
  constexpr std::int64_t kOfOneTile = 2304;  // elements that one block sorts in its own memory
  if (count <= kOfOneTile) return 1;
  constexpr std::int64_t kDigits = 256;
  constexpr std::int64_t kTileOfWords = 5376;
  constexpr std::int64_t kTileOfLongs = 4608;
  constexpr std::int64_t kTileOfKeys = 6912;
  constexpr std::int64_t kAlignment = 256;
  const auto aligned = [](std::int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  const std::int64_t passes = (bits + 7) / 8;
  const std::int64_t tile = value == 0           ? kTileOfKeys
                            : key == kIndexBytes ? kTileOfLongs
                                                 : kTileOfWords;
  const std::int64_t bins = passes * kDigits * kIndexBytes;
  const std::int64_t look_back = (count + tile - 1) / tile * kDigits * 4;
  const std::int64_t counters = kAlignment;
  const std::int64_t copies = passes > 1 ? aligned(count * key) + aligned(count * value) : 0;
  return bins + look_back + copies + counters + kAlignment - 1;
}

// What CUB takes to write some of `count` elements: the states of its tiles.
std::int64_t selection_bytes(std::int64_t count) {
  constexpr std::int64_t kTile = 2560;
  constexpr std::int64_t kWarp = 32;
  constexpr std::int64_t kState = 8;
  constexpr std::int64_t kAlignment = 256;
  const std::int64_t states = ((count + kTile - 1) / kTile + kWarp) * kState;
  return (states + kAlignment - 1) / kAlignment * kAlignment + kAlignment - 1;
}

void take_and_give_back(const SortBlocks& blocks, const Tensor& on) {
  const auto held = take_workspaces(blocks, on.device().index());
}

// The dimension of a tensor that is sorted.
struct Slices {
  std::int64_t length;
  std::int64_t count;
};

// launch_stable_sort_kernel: the rows one after the other, all of them at once with their numbers,
// or segments.
void add_bytes_of_rows(SortBlocks& blocks, Slices slices, std::int64_t key) {
  constexpr std::int64_t kLongRow = 1'000'000;
  constexpr std::int64_t kManyRows = 128;
  const std::int64_t all = slices.length * slices.count;
  const std::int64_t bits = key * 8;
  if (slices.count == 1 || slices.length >= kLongRow) {
    blocks.push_back(slices.length * kIndexBytes);
    blocks.push_back(radix_sort_bytes(slices.length, key, kIndexBytes, bits));
  } else if (slices.count < kManyRows) {
    blocks.append({all * kIndexBytes, all * kIndexBytes, all * key});
    blocks.push_back(radix_sort_bytes(all, key, kIndexBytes, bits));
  } else {
    blocks.push_back(all * kIndexBytes);
    if (key > 1) blocks.push_back(all * (key + kIndexBytes));
  }
}

// sort_cuda_kernel of `self`, besides its results
SortBlocks bytes_of_sorting(const Tensor& self, std::int64_t dim) {
  constexpr std::int64_t kSmall = 4096;
  if (self.dim() == 0 || self.numel() == 0) return {};
  dim = at::maybe_wrap_dim(dim, self.dim());
  const Slices slices{self.size(dim), self.numel() / self.size(dim)};
  if (slices.length <= kSmall) return {slices.length * kIndexBytes};  // the indices of a row
  const auto key = static_cast<std::int64_t>(self.element_size());
  SortBlocks blocks;
  const bool is_dense = self.is_non_overlapping_and_dense();
  if (!is_dense || self.stride(dim) != 1) {
    blocks.push_back(self.numel() * key);
    // The results are laid out as the tensor, and the sort writes rows.
    if (is_dense) blocks.append({self.numel() * key, self.numel() * kIndexBytes});
  }
  add_bytes_of_rows(blocks, slices, key);
  return blocks;
}

bool is_mask(const Tensor& index) {
  return index.defined() && (index.scalar_type() == at::kBool || index.scalar_type() == at::kByte);
}

// The elements of a mask of a device that are set: all, if their values are not there.
std::int64_t count_of(const Tensor& mask) {
  if (lacks_data(mask)) return mask.numel();
  const at::AutoDispatchBelowADInplaceOrView below;
  Aliases aliases;
  const Tensor whole = aliases.of(mask).contiguous();
  const auto* const first = static_cast<const std::uint8_t*>(whole.const_data_ptr());
  return whole.numel() - std::count(first, first + whole.numel(), std::uint8_t{0});
}

std::vector<Tensor> indices_of(const IValue& value) {
  std::vector<Tensor> indices;
  for (const IValue& each : value.toListRef())
    indices.push_back(each.isTensor() ? each.toTensor() : Tensor());
  return indices;
}

// What the indices are in all: how many, and how many dimensions of the indexed tensor they are
// for.
struct IndexedBy {
  SortBlocks masks;
  std::int64_t count = 1;
  std::int64_t dims = 0;
  std::int64_t elements = 1;  // of these dimensions
};

IndexedBy read_indices(const Tensor& self, const IValue& value) {
  IndexedBy found;
  std::int64_t dim = 0;
  at::DimVector shape;
  for (const Tensor& index : indices_of(value)) {
    const std::int64_t dims = is_mask(index) ? index.dim() : 1;
    if (index.defined()) {
      if (is_mask(index)) {
        const std::int64_t count = count_of(index);
        if (count > 0) found.masks.push_back(count * std::max<std::int64_t>(dims, 1) * kIndexBytes);
        shape = at::infer_size_dimvector(shape, {count});
      } else {
        shape = at::infer_size_dimvector(shape, index.sizes());
      }
      for (std::int64_t i = 0; i < dims && dim + i < self.dim(); ++i)
        found.elements *= self.size(dim + i);
      found.dims += dims;
    }
    dim += dims;
  }
  found.count = c10::multiply_integers(shape);
  return found;
}

}  // namespace

SortBlocks bytes_of_sort(const IValue* arguments) {
  return bytes_of_sorting(arguments[0].toTensor(), arguments[2].toInt());
}

SortBlocks bytes_of_median(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (self.numel() == 0) return {};
  const auto element = static_cast<std::int64_t>(self.element_size());
  SortBlocks blocks{self.numel() * element, self.numel() * kIndexBytes};
  const SortBlocks sorting = bytes_of_sorting(self.flatten(), 0);
  blocks.append(sorting.begin(), sorting.end());
  take_and_give_back(blocks, self);
  return {};
}

SortBlocks bytes_of_unique(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const bool finds_inverse = arguments[2].toBool();
  if (self.numel() == 0 || self.scalar_type() == at::kBool) return {};
  const std::int64_t count = self.numel();
  const auto element = static_cast<std::int64_t>(self.element_size());
  SortBlocks sorted{count * element};
  if (finds_inverse) sorted.push_back(count * kIndexBytes);
  SortBlocks sorting = sorted;
  if (finds_inverse) sorting.push_back(count * kIndexBytes);
  sorting.push_back(radix_sort_bytes(count, element, finds_inverse ? kIndexBytes : 0, element * 8));
  take_and_give_back(sorting, self);
  sorted.append({kIndexBytes, selection_bytes(count)});
  return sorted;
}

SortBlocks bytes_of_unique_consecutive(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (self.numel() == 0 || !arguments[3].isNone()) return {};
  SortBlocks blocks{kIndexBytes, selection_bytes(self.numel())};
  if (arguments[1].toBool()) blocks.push_back(self.numel() * 4);  // where another value begins
  return blocks;
}

SortBlocks bytes_of_permutation(std::int64_t n, std::int64_t element, std::int64_t bits) {
  constexpr std::int64_t kIntBits = 32;
  const std::int64_t key = bits <= kIntBits ? 4 : kIndexBytes;
  return {n * element, n * key, n * key, radix_sort_bytes(n, key, element, bits)};
}

SortBlocks bytes_of_masks(const IValue* arguments) {
  SortBlocks blocks;
  for (const Tensor& index : indices_of(arguments[1])) {
    if (!is_mask(index)) continue;
    const std::int64_t count = count_of(index);
    if (count > 0) blocks.push_back(count * std::max<std::int64_t>(index.dim(), 1) * kIndexBytes);
  }
  return blocks;
}

SortBlocks bytes_of_selection(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& mask = arguments[1].toTensor();
  if (!is_mask(mask) || mask.numel() == 0) return {};
  const auto shape = at::infer_size_dimvector(self.sizes(), mask.sizes());
  const std::int64_t repeated = c10::multiply_integers(shape) / mask.numel();
  const std::int64_t count = count_of(mask) * repeated;
  if (count == 0) return {};
  return {count * std::max<std::int64_t>(static_cast<std::int64_t>(shape.size()), 1) * kIndexBytes};
}

SortBlocks bytes_of_masked_scatter(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (self.numel() == 0) return {};
  return {self.numel() * kIndexBytes};
}

SortBlocks bytes_of_index_put(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& values = arguments[2].toTensor();
  const bool is_sorted = arguments[3].toBool() || at::globalContext().deterministicAlgorithms();
  if (self.numel() == 0) return {};
  if (!is_sorted) {
    // One number for a mask is filled in.
    return values.numel() == 1 && !values.is_cpu() ? SortBlocks() : bytes_of_masks(arguments);
  }
  const IndexedBy by = read_indices(self, arguments[1]);
  if (by.count == 0 || by.dims == 0) return by.masks;
  SortBlocks blocks = by.masks;
  std::int64_t bits = 1;
  while ((by.elements - 1) >> bits != 0) ++bits;
  const std::int64_t indices = by.count * kIndexBytes;
  // The indices as numbers of elements, sorted, their order, and that before.
  blocks.append({indices, indices, indices, indices});
  blocks.push_back(radix_sort_bytes(by.count, kIndexBytes, kIndexBytes, bits));
  const std::int64_t written = by.count * (self.numel() / by.elements);
  if (values.numel() < written)
    blocks.push_back(written * static_cast<std::int64_t>(values.element_size()));
  return blocks;
}

}  // namespace torchport::vdev
