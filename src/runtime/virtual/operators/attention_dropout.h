// Draws which elements of attention CUDA's fused kernels keep.
//
// Both kernels can say of any element alone whether it is kept, so that the backward pass needs
// only the seed and the offset. Neither depends on the device's multiprocessors or on the sizes of
// the kernel's blocks.
//
// - The memory-efficient kernel takes one number of cuRAND's subsequence 0 for each element, in the
//   order of the attention matrices, and keeps those above the probability
//   (aten/src/ATen/native/transformers/cuda/mem_eff_attention/kernel_forward.h).
// - FlashAttention takes a byte for each element from blocks of its own of 16 queries and 32 keys,
//   and keeps those up to 255 times the probability of keeping, rounded down (dropout.h of
//   FlashAttention 2). Its generator makes seven rounds and counts its threads in the offset.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "runtime/device/philox.h"

namespace torchport::vdev {

class AttentionDropout {
 public:
  enum class Kernel : std::uint8_t { kFlash, kEfficient };

  // For matrices of `heads` heads. `probability` is that of dropping, from 0 to below 1.
  AttentionDropout(Kernel kernel, const device::PhiloxPlace& place, double probability,
                   std::int64_t heads)
      : kernel_(kernel), place_(place), probability_(probability), heads_(heads) {}

  // How many elements of the generator's sequence lie between two matrices of the memory-efficient
  // kernel, where that is not their size.
  void set_elements_of_matrix(std::int64_t elements) { elements_of_matrix_ = elements; }

  // Writes 1 for the elements of a matrix that are kept, and 0 for the others, to the contiguous
  // float32 CPU tensor `kept` (queries, keys).
  void draw(std::int64_t batch, std::int64_t head, at::Tensor& kept) const;

  // What the kernels multiply the kept elements by.
  [[nodiscard]] double scale() const { return 1.0 / (1.0 - probability_); }

 private:
  void draw_flash(std::uint64_t matrix, at::Tensor& kept) const;
  void draw_efficient(std::uint64_t matrix, at::Tensor& kept) const;

  Kernel kernel_;
  device::PhiloxPlace place_;
  double probability_;
  std::int64_t heads_;
  std::int64_t elements_of_matrix_ = -1;
};

// Reserves `numbers` of the default generator of the tensor's device for a kernel that draws a mask
// by itself. A device that draws the CPU's numbers gives a seed that it draws. Raises c10::Error
// like PhiloxGenerator::reserve().
[[nodiscard]] device::PhiloxPlace reserve_for_mask(const at::Tensor& query, std::uint64_t numbers);

// Fills a tensor with the numbers of cuRAND's subsequence 0, in (0, 1]. `uniform` is a contiguous
// float32 CPU tensor.
void fill_uniform(const device::PhiloxPlace& place, at::Tensor& uniform);

}  // namespace torchport::vdev
