// What sorts, and indexing with masks and with sums, take of the device while they compute: several
// times the memory of their results.
//
// Sort.cpp, SortStable.cu, UniqueCub.cu, Randperm.cu, Indexing.cu and IndexKernel.cpp in
// aten/src/ATen/native/cuda say which tensors there are. What CUB's radix sort takes is the sum of
// the allocations that cub/device/dispatch/dispatch_radix_sort.cuh makes for one sweep; the numbers
// of elements of a tile are those that the memory of an NVIDIA H200 has (tests/fidelity).
#pragma once

#include <cstdint>

#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

namespace torchport::vdev {

// Each takes the arguments of its operator, and returns the bytes of each block. Thread safe.

// sort.stable(self, stable, dim, descending), also with values and indices to write into
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_sort(const c10::IValue* arguments);

// median(self) and nanmedian(self): all numbers are sorted, and one is taken. The memory is given
// back before there is a result.
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_median(const c10::IValue* arguments);

// _unique2(self, sorted, return_inverse, return_counts)
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_unique(const c10::IValue* arguments);

// unique_consecutive(self, return_inverse, return_counts, dim)
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_unique_consecutive(
    const c10::IValue* arguments);

// index.Tensor(self, indices): the indices of each mask
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_masks(const c10::IValue* arguments);

// masked_select(self, mask)
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_selection(const c10::IValue* arguments);

// masked_scatter(self, mask, source): how many elements of the mask come before each
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_masked_scatter(
    const c10::IValue* arguments);

// index_put(self, indices, values, accumulate): sums are made in the order of the sorted indices
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_index_put(const c10::IValue* arguments);

// randperm(n): its numbers have `element` bytes, and `bits` of its keys count
[[nodiscard]] c10::SmallVector<std::int64_t, 2> bytes_of_permutation(std::int64_t n,
                                                                     std::int64_t element,
                                                                     std::int64_t bits);

}  // namespace torchport::vdev
