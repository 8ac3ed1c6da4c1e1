// Rows of numbers, for operators that choose among the elements along a dimension.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <ATen/core/Tensor.h>

namespace torchport::vdev {

inline constexpr std::int64_t kRowsOfTask = 64;

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>) return false;
  if constexpr (!std::is_integral_v<T>) return std::isnan(static_cast<double>(value));
}

// NaN is the largest number.
template <class T>
bool is_less(T a, T b) {
  return (is_nan(b) && !is_nan(a)) || a < b;
}
template <class T>
bool is_same(T a, T b) {
  return a == b || (is_nan(a) && is_nan(b));
}

// The tensor with the dimension at the end, as a matrix without gaps.
inline at::Tensor rows_of(const at::Tensor& tensor, std::int64_t dim) {
  return tensor.movedim(dim, -1).contiguous().view({-1, tensor.size(dim)});
}

// Writes a matrix that rows_of() made of a tensor back into it.
inline void put_rows(const at::Tensor& tensor, std::int64_t dim, const at::Tensor& rows) {
  const at::Tensor moved = tensor.movedim(dim, -1);
  moved.copy_(rows.view(moved.sizes()));
}

}  // namespace torchport::vdev
