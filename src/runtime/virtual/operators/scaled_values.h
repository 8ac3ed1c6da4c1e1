// What products of small floating-point types consist of: values widened to float32, factors of
// blocks, and results rounded once. All tensors here are of the CPU.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace torchport::vdev {

[[nodiscard]] constexpr std::int64_t blocks_of(std::int64_t size, std::int64_t block) {
  return (size + block - 1) / block;
}
[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t size, std::int64_t multiple) {
  return blocks_of(size, multiple) * multiple;
}

// A pair of float4 values is one element, so that a matrix has half as many columns.
[[nodiscard]] constexpr bool is_packed(at::ScalarType type) {
  return type == at::ScalarType::Float4_e2m1fn_x2;
}

// The float32 values of a matrix of float8, or of pairs of float4 along its last dimension: [m, k]
// or [m, k / 2] to [m, k].
[[nodiscard]] at::Tensor in_float32(const at::Tensor& matrix);

// The factors [rows, columns] in float32 out of those of cuBLAS's tiles: each has 128 rows and 4
// columns, and row r of it stands at (r % 32) * 16 + (r / 32) * 4 ("1D block scaling factors
// layout" in cuBLAS's documentation). Tiles are whole, so that there are round_up(rows, 128) *
// round_up(columns, 4) numbers, in any shape.
[[nodiscard]] at::Tensor without_tiles(const at::Tensor& factors, std::int64_t rows,
                                       std::int64_t columns);

// [m, k] times the factors [m, blocks of k], each of which is for `block` columns.
[[nodiscard]] at::Tensor times_blocks(const at::Tensor& matrix, const at::Tensor& factors,
                                      std::int64_t block);

// `wide` in this type. What is too large for a float8 becomes its largest number, as cuBLAS rounds.
// `wide` is overwritten.
[[nodiscard]] at::Tensor rounded_to(at::Tensor& wide, at::ScalarType type);

}  // namespace torchport::vdev
