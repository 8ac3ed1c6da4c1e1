// Reads and writes headers of NumPy's .npy files, which hold one array each.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Headers and elements are separate here, because elements are mapped from a file or read from a
// stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torchport::infer {

// The length in bytes of the fixed beginning, which says how long the header is.
inline constexpr std::size_t kNpyPrefix = 12;

struct NpyHeader {
  c10::ScalarType dtype = c10::ScalarType::Float;
  std::vector<std::int64_t> sizes;
  bool fortran_order = false;
  std::size_t data = 0;   // where the elements begin, in bytes
  std::size_t bytes = 0;  // the size of the elements
};

[[nodiscard]] bool is_npy(std::string_view bytes);

// The number of bytes before the elements, from the first kNpyPrefix bytes. Throws
// std::runtime_error.
[[nodiscard]] std::size_t npy_header_size(std::string_view prefix);

// Reads a header. Throws std::runtime_error for a damaged header and for elements of a type that
// torch does not have.
[[nodiscard]] NpyHeader read_npy_header(std::string_view bytes);

// A tensor over `elements`, which has header.bytes bytes and is kept alive by `owner`.
[[nodiscard]] at::Tensor npy_tensor(const NpyHeader& header, const char* elements,
                                    std::shared_ptr<const void> owner);

// The header for a contiguous tensor on the CPU; the tensor's bytes follow it. Throws
// std::runtime_error for a dtype that NumPy does not have.
[[nodiscard]] std::string npy_header_for(const at::Tensor& tensor);

}  // namespace torchport::infer
