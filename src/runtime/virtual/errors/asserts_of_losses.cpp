// What the kernels of losses assert.
//
// Conditions, launches and lines are those of aten/src/ATen/native/cuda/Loss.cu and NLLLoss2d.cu as
// they were in 2026; between releases lines move.
#include <algorithm>
#include <cmath>

#include <ATen/core/Reduction.h>
#include <fmt/format.h>

#include "runtime/virtual/errors/bad_values.h"
#include "runtime/virtual/errors/kernel_assertions.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using Found = std::optional<FailedAssertion>;

constexpr std::int64_t kLoopThreads = 1024;  // CUDA_NUM_THREADS
constexpr std::int64_t kIgnored = -100;      // the default of ignore_index
constexpr const char* kTarget = "t >= 0 && t < n_classes";
constexpr const char* kCurrentTarget = "cur_target >= 0 && cur_target < n_classes";

BadIndices bad_targets(const CallArguments& call, std::int64_t classes) {
  return {call.tensor("target"), 0, classes, call.integer("ignore_index", kIgnored)};
}

std::string class_text(const BadIndices& bad, std::int64_t classes) {
  return bad.text("class", "target", fmt::format("{} classes", classes));
}

// nll_loss_threads() of Loss.cu.
std::int64_t threads_for(std::int64_t batch) {
  const auto sixteenths = static_cast<double>(std::max<std::int64_t>(batch / 16, 1));
  return std::clamp<std::int64_t>(std::int64_t{1} << std::llround(std::log2(sixteenths)), 32, 1024);
}

std::vector<GridThread> folded_threads(const BadIndices& bad, std::int64_t threads) {
  std::vector<std::int64_t> folded;
  for (const std::int64_t position : bad.positions()) folded.push_back(position % threads);
  return loop_threads(folded, threads);
}

Found of_nll_loss(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const std::int64_t classes = self.size(-1);
  const BadIndices bad = bad_targets(call, classes);
  if (bad.empty()) return {};
  FailedAssertion failed{.file = "Loss.cu", .reason = class_text(bad, classes)};
  if (self.dim() == 1) {
    failed.line = 201;
    failed.kernel = "nll_loss_forward_reduce_cuda_kernel_1d";
    failed.condition = kTarget;
    failed.threads = all_threads(1, 1);
  } else if (call.integer("reduction") == at::Reduction::None) {
    failed.line = 180;
    failed.kernel = "nll_loss_forward_no_reduce_cuda_kernel";
    failed.condition = kCurrentTarget;
    failed.threads = loop_threads(bad.positions(), kLoopThreads);
  } else {
    failed.line = 245;
    failed.kernel = "nll_loss_forward_reduce_cuda_kernel_2d";
    failed.condition = kTarget;
    failed.threads = folded_threads(bad, threads_for(self.size(0)));
  }
  return failed;
}

// The forward pass has failed before, so only that the kernel asserts matters here.
Found of_nll_loss_backward(const CallArguments& call) {
  const Tensor self = call.tensor("self");
  const std::int64_t classes = self.size(-1);
  const BadIndices bad = bad_targets(call, classes);
  if (bad.empty()) return {};
  const bool each = self.dim() > 1 && call.integer("reduction") == at::Reduction::None;
  return FailedAssertion{
      .file = "Loss.cu",
      .kernel = self.dim() == 1 ? "nll_loss_backward_reduce_cuda_kernel_1d"
                : each          ? "nll_loss_backward_no_reduce_cuda_kernel"
                                : "nll_loss_backward_reduce_cuda_kernel_2d",
      .condition = each ? kCurrentTarget : kTarget,
      .threads = each ? loop_threads(bad.positions(), kLoopThreads)
                      : folded_threads(bad, threads_for(self.dim() == 1 ? 1 : self.size(0))),
      .reason = class_text(bad, classes)};
}

// Without reduction threads go over batch, height, width with the batch innermost; with it each
// sample has a block, as long as its map is small.
Found of_map(const CallArguments& call, bool forward) {
  const Tensor self = call.tensor("self");
  const std::int64_t classes = self.size(1);
  const BadIndices bad = bad_targets(call, classes);
  if (bad.empty()) return {};
  FailedAssertion failed{.file = "NLLLoss2d.cu", .reason = class_text(bad, classes)};
  const std::int64_t batch = self.size(0);
  const std::int64_t map = call.tensor("target").numel() / std::max<std::int64_t>(batch, 1);
  if (call.integer("reduction") == at::Reduction::None) {
    failed.line = forward ? 73 : 160;
    failed.kernel =
        forward ? "nll_loss2d_forward_no_reduce_kernel" : "nll_loss2d_backward_no_reduce_kernel";
    failed.condition = kCurrentTarget;
    const std::int64_t width = self.size(3);
    std::vector<std::int64_t> positions;
    for (const std::int64_t position : bad.positions()) {
      const std::int64_t in_map = position % map;
      positions.push_back(position / map +
                          batch * (in_map / width + self.size(2) * (in_map % width)));
    }
    failed.threads = loop_threads(positions, kLoopThreads);
  } else {
    failed.line = forward ? 106 : 197;
    failed.kernel = forward ? "nll_loss2d_forward_kernel" : "nll_loss2d_backward_kernel";
    failed.condition = kTarget;
    const std::int64_t blocks =
        std::max<std::int64_t>((map + kLoopThreads - 1) / kLoopThreads / 128, 1);
    std::vector<std::int64_t> positions;
    for (const std::int64_t position : bad.positions())
      positions.push_back(position / map * blocks * kLoopThreads +
                          position % map % (blocks * kLoopThreads));
    failed.threads = loop_threads(positions, kLoopThreads);
  }
  return failed;
}

Found of_nll_loss2d(const CallArguments& call) {
  return of_map(call, true);
}

Found of_nll_loss2d_backward(const CallArguments& call) {
  return of_map(call, false);
}

// An element of `values` that is not in [0, 1]; NaN is not.
Found outside_of_unit(const Tensor& values, const char* name, int line) {
  const Tensor flat = values.reshape(-1);
  const Tensor bad = flat.ge(0).logical_and(flat.le(1)).logical_not().nonzero().reshape(-1);
  if (bad.numel() == 0) return {};
  std::vector<std::int64_t> positions(bad.const_data_ptr<std::int64_t>(),
                                      bad.const_data_ptr<std::int64_t>() + bad.numel());
  return FailedAssertion{
      .file = "Loss.cu",
      .line = line,
      .kernel = "operator()",
      .condition = fmt::format("{0}_val >= zero && {0}_val <= one", name),
      .threads = strided_threads(positions),
      .reason = fmt::format(
          "{} at {} of {} is not between 0 and 1{}", flat[positions.front()].item().toDouble(),
          place_text(positions.front(), values.sizes()), name,
          positions.size() > 1 ? fmt::format(", and {} more are not", positions.size() - 1)
                               : std::string())};
}

Found of_bce(const CallArguments& call) {
  if (!call.tensor("self").is_floating_point()) return {};  // which the host refuses
  if (auto failed = outside_of_unit(call.tensor("self"), "input", 90)) return failed;
  return outside_of_unit(call.tensor("target"), "target", 91);
}

const KernelAssertion kNllLoss("aten::nll_loss_forward", &of_nll_loss);
const KernelAssertion kNllLossBackward("aten::nll_loss_backward", &of_nll_loss_backward);
const KernelAssertion kNllLoss2d("aten::nll_loss2d_forward", &of_nll_loss2d);
const KernelAssertion kNllLoss2dBackward("aten::nll_loss2d_backward", &of_nll_loss2d_backward);
const KernelAssertion kBce("aten::binary_cross_entropy", &of_bce);

}  // namespace

}  // namespace torchport::vdev
