// Refuses what is too large for CUDA's kernels, in their words: those that count elements in 32
// bits, and those that need more blocks than a launch may have.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

// The size of one dimension of the result (pooling_output_shape in ATen/native/Pool.h).
std::int64_t pooled(std::int64_t size, std::int64_t kernel, std::int64_t padding,
                    std::int64_t stride, bool ceil) {
  const std::int64_t room = size + 2 * padding - kernel;
  if (room < 0 || stride <= 0) return 0;  // which the kernel refuses
  const std::int64_t count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  return ceil && (count - 1) * stride >= size + padding ? count - 1 : count;
}

// aten::avg_pool2d(self, kernel_size, stride, padding, ceil_mode, ...): the kernel counts the
// elements of its result in 32 bits (AveragePool2d.cu).
Compute check_avg_pool2d(const c10::IValue* arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  // A padding is at most half of the kernel, so a dimension grows by less than this.
  constexpr std::int64_t kMostGrowth = 4;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (self.dim() < 3 || self.numel() <= kMost / kMostGrowth) return nullptr;
  const auto pair = [&](std::size_t i) {
    std::vector<std::int64_t> list = arguments[i].toIntVector();
    if (list.size() == 1) list.push_back(list[0]);
    return list;
  };
  const auto kernel = pair(1);
  const auto stride = pair(2).empty() ? kernel : pair(2);
  const auto padding = pair(3);
  if (kernel.size() != 2 || stride.size() != 2 || padding.size() != 2) return nullptr;
  const bool ceil = arguments[4].toBool();
  const std::int64_t planes = self.numel() / (self.size(-1) * self.size(-2));
  const std::int64_t count = planes *
                             pooled(self.size(-2), kernel[0], padding[0], stride[0], ceil) *
                             pooled(self.size(-1), kernel[1], padding[1], stride[1], ceil);
  TORCH_CHECK(count <= kMost, "integer out of range");
  return nullptr;
}

// aten::upsample_nearest2d(self, output_size, ...) and _upsample_nearest_exact2d: a row of blocks
// for some rows of the result (UpSampleNearest2d.cu).
Compute check_nearest2d(const c10::IValue* arguments) {
  constexpr std::int64_t kThreads = 512;  // of a block
  constexpr std::int64_t kMostBlocks = 65535;
  const at::Tensor& self = arguments[0].toTensor();
  const auto size = arguments[1].toIntVector();
  if (size.size() != 2 || size[0] <= kMostBlocks || size[1] <= 0 || self.dim() != 4) return nullptr;
  // The kernel for channels last has no rows of blocks.
  constexpr std::int64_t kFewestChannels = 4;
  if (self.suggest_memory_format() == at::MemoryFormat::ChannelsLast &&
      self.size(1) >= kFewestChannels)
    return nullptr;
  if (self.size(2) == size[0] && self.size(3) == size[1]) return nullptr;  // it is copied
  const auto last_power = [](std::int64_t number) {
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(number)));
  };
  const std::int64_t columns = std::min(last_power(size[1]), kThreads);
  const std::int64_t rows = std::min(last_power(size[0]), kThreads / columns);
  TORCH_CHECK((size[0] + rows - 1) / rows <= kMostBlocks,
              "input tensor has spatial dimension larger than the kernel capacity");
  return nullptr;
}

void put_launch_limits(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  for (const char* overload : {"", "out"}) {
    put_choice(aten, "upsample_nearest2d", overload, &check_nearest2d);
    put_choice(aten, "_upsample_nearest_exact2d", overload, &check_nearest2d);
  }
  put_choice(aten, "avg_pool2d", "", &check_avg_pool2d);
  put_choice(aten, "avg_pool2d", "out", &check_avg_pool2d);
}

const OperatorGroup kLaunchLimits(&put_launch_limits);

}  // namespace

}  // namespace torchport::vdev
