#include "runtime/infer/npy.h"

#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <utility>

#include <ATen/ops/from_blob.h>

namespace torchport::infer {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;

constexpr std::array<std::pair<std::string_view, c10::ScalarType>, 14> kTypes{{
    {"f4", c10::ScalarType::Float},
    {"f8", c10::ScalarType::Double},
    {"f2", c10::ScalarType::Half},
    {"i8", c10::ScalarType::Long},
    {"i4", c10::ScalarType::Int},
    {"i2", c10::ScalarType::Short},
    {"i1", c10::ScalarType::Char},
    {"u1", c10::ScalarType::Byte},
    {"u2", c10::ScalarType::UInt16},
    {"u4", c10::ScalarType::UInt32},
    {"u8", c10::ScalarType::UInt64},
    {"b1", c10::ScalarType::Bool},
    {"c8", c10::ScalarType::ComplexFloat},
    {"c16", c10::ScalarType::ComplexDouble},
}};

// The text after `key` in the header, which is a Python dict as repr() writes it.
std::string_view value_of(std::string_view header, std::string_view key) {
  const auto at = header.find(key);
  if (at == std::string_view::npos)
    throw std::runtime_error("its .npy header does not have " + std::string(key));
  const auto colon = header.find(':', at + key.size());
  const auto start = header.find_first_not_of(' ', colon + 1);
  if (colon == std::string_view::npos || start == std::string_view::npos)
    throw std::runtime_error("its .npy header is damaged");
  return header.substr(start);
}

c10::ScalarType dtype_of(std::string_view descr) {
  const auto end = descr.find('\'', 1);  // after the opening one
  if (descr[0] != '\'' || end == std::string_view::npos || end < 2)
    throw std::runtime_error("its .npy array holds records, not numbers");
  const std::string_view code = descr.substr(1, end - 1);
  if (code[0] == '>')
    throw std::runtime_error("its numbers are big-endian: convert with a.astype('<f4')");
  for (const auto& [name, type] : kTypes) {
    if (code.substr(1) == name) return type;
  }
  throw std::runtime_error("torch has no dtype for NumPy's " + std::string(code));
}

std::vector<std::int64_t> sizes_of(std::string_view shape) {
  const auto end = shape.find(')');
  if (shape.empty() || shape[0] != '(' || end == std::string_view::npos)
    throw std::runtime_error("its .npy header is damaged");
  std::vector<std::int64_t> sizes;
  const char* at = shape.data() + 1;
  const char* const stop = shape.data() + end;
  while (at < stop) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, stop, size);
    if (error != std::errc{} || size < 0) throw std::runtime_error("its .npy header is damaged");
    sizes.push_back(size);
    at = next;
  }
  return sizes;
}

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

std::size_t bytes_of(const std::vector<std::int64_t>& sizes, c10::ScalarType dtype) {
  std::size_t bytes = c10::elementSize(dtype);
  for (const std::int64_t size : sizes) {
    const auto factor = static_cast<std::size_t>(size);
    if (factor != 0 && bytes > std::numeric_limits<std::size_t>::max() / 4 / factor)
      throw std::runtime_error("its .npy header has a shape that is too large");
    bytes *= factor;
  }
  return bytes;
}

}  // namespace

bool is_npy(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

std::size_t npy_header_size(std::string_view prefix) {
  if (prefix.size() < kNpyPrefix || !is_npy(prefix))
    throw std::runtime_error("it is not an .npy array, or it was cut off");
  if (byte_at(prefix, 6) == 1) return 10 + (byte_at(prefix, 8) | byte_at(prefix, 9) << 8);
  return 12 + (byte_at(prefix, 8) | byte_at(prefix, 9) << 8 | byte_at(prefix, 10) << 16 |
               static_cast<std::size_t>(byte_at(prefix, 11)) << 24);
}

NpyHeader read_npy_header(std::string_view bytes) {
  NpyHeader header;
  header.data = npy_header_size(bytes);
  if (header.data > bytes.size()) throw std::runtime_error("its .npy header was cut off");
  const std::string_view text = bytes.substr(10, header.data - 10);
  header.dtype = dtype_of(value_of(text, "'descr'"));
  header.sizes = sizes_of(value_of(text, "'shape'"));
  header.fortran_order = value_of(text, "'fortran_order'").starts_with("True");
  header.bytes = bytes_of(header.sizes, header.dtype);
  return header;
}

at::Tensor npy_tensor(const NpyHeader& header, const char* elements,
                      std::shared_ptr<const void> owner) {
  std::vector<std::int64_t> strides(header.sizes.size(), 1);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::size_t at = header.fortran_order ? i : strides.size() - 1 - i;
    strides[at] = step;
    step *= std::max<std::int64_t>(header.sizes[at], 1);
  }
  return at::from_blob(
      const_cast<char*>(elements), header.sizes, strides, [kept = std::move(owner)](void*) {},
      header.dtype);
}

std::string npy_header_for(const at::Tensor& tensor) {
  std::string_view code;
  for (const auto& [name, type] : kTypes) {
    if (type == tensor.scalar_type()) code = name;
  }
  if (code.empty())
    throw std::runtime_error(std::string("NumPy has no dtype for ") +
                             c10::toString(tensor.scalar_type()) +
                             ": write to a .safetensors file");
  const char order = tensor.element_size() == 1 ? '|' : '<';
  std::string text = std::string("{'descr': '") + order + std::string(code) +
                     "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t size : tensor.sizes()) text += std::to_string(size) + ", ";
  text += "), }";
  text.append(kAlignment - (10 + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace torchport::infer
