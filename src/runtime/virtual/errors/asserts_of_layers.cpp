// What the kernels of layers and of masked_scatter assert.
//
// Conditions and launches are those of EmbeddingBag.cu, MaxUnpooling.cu, MultiMarginLoss.cu and
// IndexKernel.cu in aten/src/ATen/native/cuda. None of these operators has a meta kernel in C++, so
// the entries say what results they would have.
#include <algorithm>
#include <limits>
#include <vector>

#include <ATen/core/Reduction.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include "runtime/virtual/errors/bad_values.h"
#include "runtime/virtual/errors/kernel_assertions.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using Layer = std::optional<FailedAssertion>;
using Results = std::vector<c10::IValue>;

std::int64_t ceil_of(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

GridThread thread_at(std::int64_t block, std::int64_t x, std::int64_t y) {
  return {{static_cast<std::uint32_t>(block), 0, 0},
          {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 0}};
}

// --- embedding_bag: a thread for each bag and feature, 32 features by 8 in a block (64 by 4 on
// AMD), and at most 1024 blocks.

constexpr std::int64_t kBagFeatures = 32;
constexpr std::int64_t kBagRows = 8;
constexpr std::int64_t kBagBlocks = 1024;
constexpr std::int64_t kBagMaximum = 2;  // EmbeddingBagMode::MAX

std::int64_t bags_of(const CallArguments& call) {
  return call.tensor("offsets").size(0) - (call.flag("include_last_offset") ? 1 : 0);
}

// The bag of an index.
std::int64_t bag_at(const Tensor& offsets, std::int64_t bags, std::int64_t position) {
  std::int64_t bag = 0;
  while (bag + 1 < bags && offsets[bag + 1].item<std::int64_t>() <= position) ++bag;
  return bag;
}

Layer of_embedding_bag(const CallArguments& call) {
  const Tensor weight = call.tensor("weight");
  const Tensor indices = call.tensor("indices");
  if (weight.dim() != 2 || indices.dim() != 1 || call.tensor("offsets").dim() != 1) return {};
  const bool is_maximum = call.integer("mode") == kBagMaximum;
  // An index below 0 passes the assertion of the largest.
  const BadIndices bad(indices, is_maximum ? std::numeric_limits<std::int64_t>::min() : 0,
                       weight.size(0));
  if (bad.empty()) return {};
  FailedAssertion failed{
      .file = "EmbeddingBag.cu",
      .line = is_maximum ? 0 : 149,
      .kernel = is_maximum ? "EmbeddingBag_updateOutputKernel_max"
                           : "EmbeddingBag_updateOutputKernel_sum_mean",
      .condition = is_maximum ? "input[emb] < numRows"
                              : "!has_invalid_index && \"Invalid input index in EmbeddingBag: "
                                "index out of range [0, numRows)\"",
      .reason = bad.text("index", "input", fmt::format("{} embeddings", weight.size(0)))};
  const std::int64_t bag = bag_at(call.tensor("offsets"), bags_of(call), bad.first());
  const std::int64_t chunks = ceil_of(weight.size(1), kBagFeatures);
  for (std::int64_t feature = 0; feature < weight.size(1); ++feature) {
    if (failed.threads.size() == kThreadsShown) break;
    const std::int64_t chunk = bag * chunks + feature / kBagFeatures;
    failed.threads.push_back(
        thread_at(chunk / kBagRows % kBagBlocks, feature % kBagFeatures, chunk % kBagRows));
  }
  return failed;
}

Results bag_results(const CallArguments& call) {
  const Tensor weight = call.tensor("weight");
  const Tensor indices = call.tensor("indices");
  const std::int64_t bags = bags_of(call);
  const bool is_maximum = call.integer("mode") == kBagMaximum;
  return {at::zeros({bags, weight.size(1)}, weight.options()), at::zeros_like(indices),
          at::zeros({bags}, indices.options()),
          at::zeros({is_maximum ? bags : 0, is_maximum ? weight.size(1) : 0}, indices.options())};
}

// --- max_unpool

constexpr std::int64_t kUnpoolThreads = 1024;  // CUDA_NUM_THREADS
constexpr std::int64_t kUnpoolColumns = 32;    // of a block in three dimensions, of 8 rows
constexpr std::int64_t kUnpoolRows = 8;

std::int64_t image_size(const CallArguments& call) {
  std::int64_t size = 1;
  for (const std::int64_t one : call.value("output_size").toIntVector()) size *= one;
  return size;
}

// Whether the host lets a call through.
bool is_image(const CallArguments& call, std::size_t dims) {
  const Tensor indices = call.tensor("indices");
  return call.value("output_size").toIntVector().size() == dims &&
         indices.scalar_type() == at::kLong && indices.dim() > static_cast<std::int64_t>(dims) &&
         indices.sizes() == call.tensor("self").sizes();
}

std::string place_in_image(const BadIndices& bad, const CallArguments& call) {
  return bad.text("index", "indices", fmt::format("{} elements of the output", image_size(call)));
}

Layer of_max_unpool2d(const CallArguments& call) {
  if (!is_image(call, 2)) return {};
  const BadIndices bad(call.tensor("indices"), 0, image_size(call));
  if (bad.empty()) return {};
  return FailedAssertion{.file = "MaxUnpooling.cu",
                         .kernel = "max_unpooling2d_forward_kernel",
                         .condition = "maxind >= 0 && maxind < outputImageSize",
                         .threads = loop_threads(bad.positions(), kUnpoolThreads),
                         .reason = place_in_image(bad, call)};
}

Layer of_max_unpool3d(const CallArguments& call) {
  if (!is_image(call, 3)) return {};
  const Tensor indices = call.tensor("indices");
  const BadIndices bad(indices, 0, image_size(call));
  if (bad.empty()) return {};
  FailedAssertion failed{.file = "MaxUnpooling.cu",
                         .kernel = "max_unpooling3d_forward_kernel",
                         .condition = "index >= 0 && index < outputImageSize",
                         .reason = place_in_image(bad, call)};
  const std::int64_t width = indices.size(-1);
  const std::int64_t height = indices.size(-2);
  for (const std::int64_t position : bad.positions()) {
    if (failed.threads.size() == kThreadsShown) break;
    const std::int64_t column = position % width;
    const std::int64_t row = position / width % height;
    GridThread thread =
        thread_at(column / kUnpoolColumns, column % kUnpoolColumns, row % kUnpoolRows);
    thread.block[1] = static_cast<std::uint32_t>(row / kUnpoolRows);
    thread.block[2] = static_cast<std::uint32_t>(position / width / height);
    failed.threads.push_back(thread);
  }
  return failed;
}

Results unpooled(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const auto image = call.value("output_size").toIntVector();
  auto sizes = self.sizes().vec();
  std::copy(image.begin(), image.end(), sizes.end() - static_cast<std::ptrdiff_t>(image.size()));
  return {at::zeros(sizes, self.options())};
}

// --- multi_margin_loss: a block for each row

constexpr std::int64_t kMarginThreads = 128;  // MULTIMARGIN_THREADS

Layer of_multi_margin(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const Tensor target = call.tensor("target");
  const std::int64_t classes = self.size(-1);
  if (self.dim() > 2 || target.dim() > 1 || target.numel() * classes != self.numel() ||
      target.scalar_type() != at::kLong)
    return {};
  const BadIndices bad(target, 0, classes);
  if (bad.empty()) return {};
  FailedAssertion failed{
      .file = "MultiMarginLoss.cu",
      .line = 33,
      .kernel = "MultiMarginLoss_forward_kernel",
      .condition = "target_k >= 0 && target_k < dim && \"target index is out of bounds\"",
      .reason = bad.text("class", "target", fmt::format("{} classes", classes))};
  for (const std::int64_t row : bad.positions()) {
    for (std::int64_t i = 0; i < kMarginThreads && failed.threads.size() < kThreadsShown; ++i)
      failed.threads.push_back(thread_at(row, i, 0));
  }
  return failed;
}

Results margin_results(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const bool each = call.integer("reduction", at::Reduction::Mean) == at::Reduction::None;
  return {at::zeros(each ? call.tensor("target").sizes() : at::IntArrayRef(), self.options())};
}

// --- masked_scatter

Layer of_masked_scatter(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  if (call.tensor("mask").scalar_type() != at::kBool ||
      self.scalar_type() != call.tensor("source").scalar_type())
    return {};
  const std::int64_t wanted = call.tensor("mask").expand_as(self).sum().item<std::int64_t>();
  const std::int64_t given = call.tensor("source").numel();
  if (wanted <= given) return {};
  return FailedAssertion{
      .file = "IndexKernel.cu",
      .kernel = "masked_scatter_size_check",
      .condition = "totalElements <= srcSize",
      .threads = all_threads(1, 1),
      .reason = fmt::format("the mask takes {} elements, and the source has {}", wanted, given)};
}

const KernelAssertion kEmbeddingBag("aten::_embedding_bag", &of_embedding_bag, &bag_results);
const KernelAssertion kEmbeddingBagOnly("aten::_embedding_bag_forward_only", &of_embedding_bag,
                                        &bag_results);
const KernelAssertion kMaxUnpool2d("aten::max_unpool2d", &of_max_unpool2d, &unpooled);
const KernelAssertion kMaxUnpool3d("aten::max_unpool3d", &of_max_unpool3d, &unpooled);
const KernelAssertion kMultiMargin("aten::multi_margin_loss", &of_multi_margin, &margin_results);
const KernelAssertion kMaskedScatter("aten::masked_scatter", &of_masked_scatter);

}  // namespace

}  // namespace torchport::vdev
