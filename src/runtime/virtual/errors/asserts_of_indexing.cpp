// What the kernels of indexing assert.
//
// Conditions, launches and lines are those of aten/src/ATen/native/cuda/Indexing.cu,
// IndexKernel.cu, IndexKernelUtils.cu and ScatterGatherKernel.cu as they were in 2026. Between
// releases lines move, and the text of ScatterGatherKernel.cu was "index out of bounds" before
// CUDA_KERNEL_ASSERT_VERBOSE came. A line that was not seen is 0 and is not printed.
#include <algorithm>

#include <ATen/WrapDimUtils.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/errors/bad_values.h"
#include "runtime/virtual/errors/kernel_assertions.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using Failed = std::optional<FailedAssertion>;

constexpr std::int64_t kMaxThreads = 128;  // getDefaultMaxThreadsPerBlock()
constexpr std::int64_t kSmallIndex = 16;  // up to here index_select and index_add loop over indices
constexpr std::int64_t kVectorBytes = 16;   // bytes, of vectorized_gather_kernel
constexpr std::int64_t kGatherBlock = 256;  // its most threads
constexpr std::int64_t kWarp = 32;

std::int64_t size_at(const Tensor& tensor, std::int64_t dim) {
  return tensor.dim() == 0 ? 1 : tensor.size(dim);
}

std::string limit_text(const Tensor& self, std::int64_t dim) {
  const std::int64_t wrapped = dim < 0 ? dim + std::max<std::int64_t>(self.dim(), 1) : dim;
  return fmt::format("dimension {} of a tensor [{}]", wrapped, fmt::join(self.sizes(), ", "));
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int64_t elements_of_slice(const Tensor& self, std::int64_t dim) {
  return self.numel() / std::max<std::int64_t>(size_at(self, dim), 1);
}

// The whole grid of a kernel that loops over few indices: each thread meets the bad one.
std::vector<GridThread> small_grid(std::int64_t slice) {
  static const std::int64_t kMostBlocks = [] {
    const devices::Profile* profile = Runtime::get().profile();
    return std::int64_t{8} * (profile == nullptr ? 1 : profile->multiprocessors);
  }();
  return all_threads(std::min(ceil_div(slice, kMaxThreads), kMostBlocks),
                     std::min(slice, kMaxThreads));
}

// Whether whole rows are copied: fast_gather_kernel_eligible() of IndexKernelUtils.h.
bool copies_rows(const Tensor& self, std::int64_t dim, const Tensor& index) {
  const std::int64_t slice = self.dim() == 0 ? 1 : elements_of_slice(self, dim);
  return dim == 0 && self.dim() > 1 && slice > 1 && self.is_contiguous() && index.is_contiguous() &&
         index.numel() > 1 && slice * self.element_size() % kVectorBytes == 0;
}

FailedAssertion row_copy(const Tensor& self, const BadIndices& bad, std::string reason) {
  const std::int64_t vectors =
      elements_of_slice(self, 0) * static_cast<std::int64_t>(self.element_size()) / kVectorBytes;
  const std::int64_t threads = std::min(ceil_div(vectors, kWarp) * kWarp, kGatherBlock);
  FailedAssertion failed{.file = "IndexKernelUtils.cu",
                         .line = 16,
                         .kernel = "vectorized_gather_kernel",
                         .condition =
                             "ind >=0 && ind < ind_dim_size && \"vectorized gather kernel "
                             "index out of bounds\"",
                         .reason = std::move(reason)};
  for (const std::int64_t row : bad.positions()) {
    for (GridThread thread : all_threads(1, threads)) {
      if (failed.threads.size() == kThreadsShown) return failed;
      thread.block[0] = static_cast<std::uint32_t>(row);
      failed.threads.push_back(thread);
    }
  }
  return failed;
}

FailedAssertion scatter_gather(std::vector<GridThread> threads, std::string reason) {
  return {
      .file = "ScatterGatherKernel.cu",
      .line = 163,
      .kernel = "operator()",
      .condition =
          "idx_dim >= 0 && idx_dim < index_size && \"scatter gather kernel index out of bounds\"",
      .threads = std::move(threads),
      .reason = std::move(reason)};
}

// The positions in the output whose index along `dim` is one of `places`.
std::vector<std::int64_t> positions_along(const std::vector<std::int64_t>& places,
                                          std::int64_t count, std::int64_t before,
                                          std::int64_t after) {
  std::vector<std::int64_t> positions;
  for (std::int64_t outer = 0; outer < before; ++outer) {
    for (const std::int64_t place : places) {
      for (std::int64_t inner = 0; inner < after; ++inner) {
        if (positions.size() >= kThreadsShown) return positions;
        positions.push_back((outer * count + place) * after + inner);
      }
    }
  }
  return positions;
}

std::vector<std::int64_t> positions_along(const Tensor& self, std::int64_t dim,
                                          const BadIndices& bad, std::int64_t count) {
  std::int64_t before = 1;
  for (std::int64_t i = 0; i < dim; ++i) before *= self.size(i);
  return positions_along(bad.positions(), count, before,
                         elements_of_slice(self, dim) / std::max<std::int64_t>(before, 1));
}

Failed of_index_select(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const Tensor index = call.tensor("index");
  const std::int64_t dim = at::maybe_wrap_dim(call.integer("dim"), self.dim());
  const BadIndices bad(index, 0, size_at(self, dim));
  const std::int64_t slice = elements_of_slice(self, dim);
  if (bad.empty() || slice == 0) return {};
  std::string reason = bad.text("index", "index", limit_text(self, dim));
  if (index.numel() <= kSmallIndex)
    return FailedAssertion{.file = "Indexing.cu",
                           .line = 1515,
                           .kernel = "indexSelectSmallIndex",
                           .condition = "srcIndex < srcSelectDimSize",
                           .threads = small_grid(slice),
                           .reason = std::move(reason)};
  if (copies_rows(self, dim, index)) return row_copy(self, bad, std::move(reason));
  return scatter_gather(strided_threads(positions_along(self, dim, bad, index.numel())),
                        std::move(reason));
}

Failed of_index_add(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const Tensor index = call.tensor("index");
  const std::int64_t dim = at::maybe_wrap_dim(call.integer("dim"), self.dim());
  const BadIndices bad(index, 0, size_at(self, dim));
  const std::int64_t slice = elements_of_slice(self, dim);
  if (bad.empty() || slice == 0) return {};
  const bool small = index.numel() <= kSmallIndex;
  return FailedAssertion{
      .file = "Indexing.cu",
      .line = small ? 1021 : 0,
      .kernel = small ? "indexFuncSmallIndex" : "indexFuncLargeIndex",
      .condition = "dstIndex < dstAddDimSize",
      .threads = small ? small_grid(slice)
                       : loop_threads(positions_along(self, dim, bad, index.numel()), kMaxThreads),
      .reason = bad.text("index", "index", limit_text(self, dim))};
}

Failed of_scatter_gather(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const Tensor index = call.tensor("index");
  const std::int64_t dim = at::maybe_wrap_dim(call.integer("dim"), self.dim());
  const BadIndices bad(index, 0, size_at(self, dim));
  if (bad.empty()) return {};
  FailedAssertion failed = scatter_gather(strided_threads(bad.positions()),
                                          bad.text("index", "index", limit_text(self, dim)));
  if (!call.value("value").isNone()) {  // scatter_ of a number fills
    failed.line = 409;
    failed.condition = "idx_dim >= 0 && idx_dim < index_size && \"index out of bounds\"";
  }
  return failed;
}

// index_fill_ and index_copy_ go over the indices in the dimension, for each slice.
Failed of_index_fill(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const std::int64_t dim = at::maybe_wrap_dim(call.integer("dim"), self.dim());
  const std::int64_t size = size_at(self, dim);
  const Tensor index = call.tensor("index");
  const BadIndices bad(index, -size, size);
  if (bad.empty()) return {};
  return FailedAssertion{
      .file = "IndexKernel.cu",
      .line = 154,
      .kernel = "operator()",
      .condition = "idx >= -self_dim_size && idx < self_dim_size && \"index out of bounds\"",
      .threads = strided_threads(positions_along(self, dim, bad, index.numel())),
      .reason = bad.text("index", "index", limit_text(self, dim))};
}

Failed of_index_copy(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const std::int64_t dim = at::maybe_wrap_dim(call.integer("dim"), self.dim());
  const Tensor index = call.tensor("index");
  const BadIndices bad(index, 0, size_at(self, dim));
  if (bad.empty()) return {};
  return FailedAssertion{
      .file = "IndexKernel.cu",
      .line = 193,
      .kernel = "operator()",
      .condition = "idx >= 0 && idx < self_dim_size && \"index_copy_(): index out of bounds\"",
      .threads = strided_threads(positions_along(self, dim, bad, index.numel())),
      .reason = bad.text("index", "index", limit_text(self, dim))};
}

// x[i, j], and x[i, j] = y. Masks were turned into indices before; a mask of a wrong shape is an
// error of the host.
Failed of_index(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  // With accumulate=True the host reads the largest and the smallest index, and raises at once.
  if (call.flag("accumulate")) return {};
  std::int64_t dim = 0;
  std::int64_t given = 0;
  for (const c10::IValue& each : call.value("indices").toListRef())
    given += each.isTensor() && each.toTensor().defined() ? 1 : 0;
  for (const c10::IValue& each : call.value("indices").toListRef()) {
    const Tensor index = each.isTensor() ? each.toTensor() : Tensor();
    if (index.defined() && (index.scalar_type() == at::kBool || index.scalar_type() == at::kByte))
      return {};
    // No index is valid for a dimension without elements, and the host says so.
    if (index.defined() && self.size(dim) == 0) return {};
    if (index.defined()) {
      const BadIndices bad(index, -self.size(dim), self.size(dim));
      if (!bad.empty()) {
        std::string reason = bad.text("index", "the index", limit_text(self, dim));
        const bool reads = !call.value("values").isTensor();
        if (reads && given == 1 && copies_rows(self, dim, index))
          return row_copy(self, bad, std::move(reason));
        return FailedAssertion{
            .file = "IndexKernel.cu",
            .line = 111,
            .kernel = "operator()",
            .condition = "-sizes[i] <= index && index < sizes[i] && \"index out of bounds\"",
            .threads = strided_threads(positions_along(self, dim, bad, index.numel())),
            .reason = std::move(reason)};
      }
    }
    ++dim;
  }
  return {};
}

Failed of_take(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const BadIndices bad(call.tensor("index"), -self.numel(), self.numel());
  if (bad.empty()) return {};
  return FailedAssertion{
      .file = "IndexKernel.cu",
      .line = 339,
      .kernel = "operator()",
      .condition = "idx < numel && idx >= -numel && \"cuda_take_put_kernel() index out of bounds\"",
      .threads = strided_threads(bad.positions()),
      .reason = bad.text("index", "index", fmt::format("{} elements", self.numel()))};
}

const KernelAssertion kIndexSelect("aten::index_select", &of_index_select);
const KernelAssertion kGather("aten::gather", &of_scatter_gather);
const KernelAssertion kScatter("aten::scatter", &of_scatter_gather);
const KernelAssertion kScatterAdd("aten::scatter_add", &of_scatter_gather);
const KernelAssertion kScatterReduce("aten::scatter_reduce", &of_scatter_gather);
const KernelAssertion kIndexAdd("aten::index_add", &of_index_add);
const KernelAssertion kIndexReduce("aten::index_reduce", &of_index_add);
const KernelAssertion kIndexFill("aten::index_fill", &of_index_fill);
const KernelAssertion kIndexCopy("aten::index_copy", &of_index_copy);
const KernelAssertion kIndex("aten::index", &of_index);
const KernelAssertion kUnsafeIndex("aten::_unsafe_index", &of_index);
const KernelAssertion kIndexPut("aten::index_put", &of_index);
const KernelAssertion kIndexPutImpl("aten::_index_put_impl", &of_index);
const KernelAssertion kTake("aten::take", &of_take);
const KernelAssertion kPut("aten::put", &of_take);

}  // namespace

}  // namespace torchport::vdev
