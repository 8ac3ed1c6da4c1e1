#include "runtime/virtual/operators/workspaces_of_sums.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

std::int64_t quotient_up(std::int64_t number, std::int64_t by) {
  return (number + by - 1) / by;
}

// The largest power of 2 that is not above `number`, but `most` if that is less.
std::int64_t power_within(std::int64_t number, std::int64_t most) {
  std::int64_t power = 1;
  while (power * 2 <= std::min(number, most)) power *= 2;
  return number < most ? power : most;
}

// A dimension of more than one element.
struct Dimension {
  std::int64_t size = 1;
  std::int64_t stride = 0;
  bool is_summed = false;
};

std::vector<Dimension> dimensions_of(const at::Tensor& self, c10::IntArrayRef dims) {
  std::vector<Dimension> dimensions;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (self.size(i) == 1) continue;
    const bool is_named = std::any_of(dims.begin(), dims.end(), [&](std::int64_t one) {
      return one == i || one + self.dim() == i;
    });
    dimensions.push_back({self.size(i), self.stride(i), is_named || dims.empty()});
  }
  std::sort(dimensions.begin(), dimensions.end(),
            [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
  return dimensions;
}

// How many results a thread adds up at once: get_output_vec_size().
std::int64_t read_together(const at::Tensor& self, const std::vector<Dimension>& dimensions) {
  if (dimensions.front().stride != 1) return 1;
  std::int64_t together = 4;
  const auto divides = [&](std::int64_t number) {
    while (number % together != 0) together /= 2;
  };
  divides(self.storage_offset());
  std::int64_t side_by_side = 1;
  for (const Dimension& one : dimensions) {
    if (!one.is_summed && one.stride == side_by_side)
      side_by_side *= one.size;
    else
      divides(one.stride);
  }
  divides(side_by_side);
  return together;
}

}  // namespace

SumBuffers buffers_of_sum(std::int64_t outputs, std::int64_t inputs, std::int64_t together,
                          std::int64_t element, std::int64_t multiprocessors,
                          std::int64_t threads) {
  constexpr std::int64_t kThreadsOfBlock = 512, kWarp = 32, kFewValues = 16, kManyValues = 256;
  const std::int64_t most = kThreadsOfBlock / together;
  const std::int64_t across = power_within(outputs / together, most);
  const std::int64_t along = power_within(inputs, most);
  const std::int64_t height = std::min(along, most / std::min(across, kWarp));
  const std::int64_t width = std::min(across, most / height);
  if (inputs < std::min(height * kFewValues, kManyValues)) return {};
  const std::int64_t values = quotient_up(inputs, height);
  const std::int64_t grid = quotient_up(outputs / together, width);
  const std::int64_t wanted = multiprocessors * (threads / (width * height));
  if (values < kManyValues || grid > wanted) return {};
  const std::int64_t blocks =
      std::max(std::min(quotient_up(wanted, grid), quotient_up(values, kFewValues)),
               quotient_up(values, kManyValues));
  if (blocks <= 1) return {};
  return {element * outputs * blocks * width * together,
          static_cast<std::int64_t>(sizeof(std::int32_t)) * grid};
}

c10::SmallVector<std::int64_t, 2> bytes_of_sum(const at::Tensor& self, c10::IntArrayRef dims,
                                               std::int64_t element) {
  const auto* profile = Runtime::get().profile();
  // Larger tensors are added up in pieces.
  if (profile == nullptr || self.numel() == 0 || self.layout() != at::kStrided ||
      self.numel() > std::numeric_limits<std::int32_t>::max())
    return {};
  const std::vector<Dimension> dimensions = dimensions_of(self, dims);
  if (dimensions.empty() || dimensions.front().is_summed) return {};
  std::int64_t outputs = 1;
  for (const Dimension& one : dimensions)
    if (!one.is_summed) outputs *= one.size;
  const SumBuffers buffers =
      buffers_of_sum(outputs, self.numel() / outputs, read_together(self, dimensions), element,
                     profile->multiprocessors, profile->max_threads_per_multiprocessor);
  if (buffers.parts == 0) return {};
  return {buffers.parts, buffers.semaphores};
}

}  // namespace torchport::vdev
