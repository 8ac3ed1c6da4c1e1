// NumPy's .npy: one array with a header.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torchport::infer {

// How long the fixed beginning is, which says how long the header is.
inline constexpr std::size_t kNpyPrefix = 12;

struct NpyHeader {
  c10::ScalarType dtype = c10::ScalarType::Float;
  std::vector<std::int64_t> sizes;
  bool fortran_order = false;
  std::size_t data = 0;   // where the elements begin
  std::size_t bytes = 0;  // that they take
};

[[nodiscard]] bool is_npy(std::string_view bytes);

// Bytes up to the elements, out of the first kNpyPrefix. Throws std::runtime_error.
[[nodiscard]] std::size_t npy_header_size(std::string_view prefix);

// Throws std::runtime_error for a header that is damaged, and for elements that torch does not
// have.
[[nodiscard]] NpyHeader read_npy_header(std::string_view bytes);

// The array over its elements, which `owner` keeps alive. `elements` has header.bytes.
[[nodiscard]] at::Tensor npy_tensor(const NpyHeader& header, const char* elements,
                                    std::shared_ptr<const void> owner);

// The header for a contiguous tensor on the CPU, whose bytes are to follow. Throws
// std::runtime_error for a dtype that NumPy does not have.
[[nodiscard]] std::string npy_header_for(const at::Tensor& tensor);

}  // namespace torchport::infer
