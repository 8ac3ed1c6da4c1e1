// Finds the elements of a tensor that a kernel would assert against, and the threads that would.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/virtual/errors/device_errors.h"

namespace torchport::vdev {

// Integers that are not in [low, high), by their positions in the flattened tensor.
class BadIndices {
 public:
  // REQUIRED: `indices` is a CPU tensor of integers. `ignored` is allowed in any case.
  BadIndices(const at::Tensor& indices, std::int64_t low, std::int64_t high);
  BadIndices(const at::Tensor& indices, std::int64_t low, std::int64_t high, std::int64_t ignored);

  [[nodiscard]] bool empty() const { return positions_.empty(); }
  [[nodiscard]] const std::vector<std::int64_t>& positions() const { return positions_; }
  [[nodiscard]] std::int64_t first() const { return positions_.front(); }
  // "index 7 at [0, 1] of index [2, 3] is out of range for dimension 1 of self [2, 4]", with the
  // number of further ones. `what` is "index", `of` is "index", `limit` the last part.
  [[nodiscard]] std::string text(std::string_view what, std::string_view of,
                                 std::string_view limit) const;

 private:
  void find(std::int64_t low, std::int64_t high);

  at::Tensor indices_;
  bool ignores_ = false;
  std::int64_t ignored_ = 0;
  std::vector<std::int64_t> positions_;
};

// "[0, 1]": the place of a position in a tensor of these sizes.
[[nodiscard]] std::string place_text(std::int64_t position, at::IntArrayRef sizes);

// The threads that handle the elements at these positions of the output. Launches of
// aten/src/ATen/native/cuda with 128 threads a block, of which each handles 4 elements that are 128
// apart (launch_kernel of IndexKernel.cu, ScatterGatherKernel.cu).
[[nodiscard]] std::vector<GridThread> strided_threads(const std::vector<std::int64_t>& positions);
// CUDA_KERNEL_LOOP: a thread for each element, `per_block` of them in a block.
[[nodiscard]] std::vector<GridThread> loop_threads(const std::vector<std::int64_t>& positions,
                                                   std::int64_t per_block);
// All threads of the first `blocks` blocks.
[[nodiscard]] std::vector<GridThread> all_threads(std::int64_t blocks, std::int64_t per_block);

}  // namespace torchport::vdev
