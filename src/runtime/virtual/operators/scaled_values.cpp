#include "runtime/virtual/operators/scaled_values.h"

#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e5m2.h>

namespace torchport::vdev {

namespace {

using at::Tensor;

// The values of float4_e2m1fn by their bits.
Tensor values_of_float4() {
  static const Tensor kValues = at::tensor({0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F, -0.0F,
                                            -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F},
                                           at::kFloat);
  return kValues;
}

}  // namespace

Tensor in_float32(const Tensor& matrix) {
  if (!is_packed(matrix.scalar_type())) return matrix.to(at::kFloat);
  // The lower half of a byte comes first.
  const Tensor bytes = matrix.view(at::kByte).to(at::kInt);
  const Tensor bits = at::stack({bytes.remainder(16), bytes.div(16, "floor")}, -1);
  auto sizes = matrix.sizes().vec();
  sizes.back() *= 2;
  return values_of_float4().index_select(0, bits.reshape({-1})).view(sizes);
}

Tensor without_tiles(const Tensor& factors, std::int64_t rows, std::int64_t columns) {
  const std::int64_t high = blocks_of(rows, 128);
  const std::int64_t wide = blocks_of(columns, 4);
  return factors.to(at::kFloat)
      .reshape({high, wide, 32, 4, 4})
      .permute({0, 3, 2, 1, 4})
      .reshape({high * 128, wide * 4})
      .narrow(0, 0, rows)
      .narrow(1, 0, columns);
}

Tensor times_blocks(const Tensor& matrix, const Tensor& factors, std::int64_t block) {
  return matrix * factors.repeat_interleave(block, 1).narrow(1, 0, matrix.size(1));
}

Tensor rounded_to(Tensor& wide, at::ScalarType type) {
  const auto saturated = [&](float largest) { return wide.clamp_(-largest, largest).to(type); };
  if (type == at::kFloat8_e4m3fn)
    return saturated(static_cast<float>(std::numeric_limits<c10::Float8_e4m3fn>::max()));
  if (type == at::kFloat8_e5m2)
    return saturated(static_cast<float>(std::numeric_limits<c10::Float8_e5m2>::max()));
  return wide.to(type);
}

}  // namespace torchport::vdev
