#include "runtime/proof/tensor_values.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "base/file_system.h"
#include "base/text.h"
#include "runtime/checkpoint/contents.h"
#include "runtime/device/half_bits.h"

namespace torchport::proof {

namespace {

using Bytes = std::string_view;

template <class T>
double number_at(Bytes bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return static_cast<double>(value);
}

template <class Bits>
double half_at(Bytes bytes) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data(), sizeof(bits));
  return Bits::float_of(bits);
}

struct Reader {
  std::string_view dtype;
  std::size_t size;
  double (*read)(Bytes);
};

constexpr Reader kReaders[] = {
    {"float64", 8, &number_at<double>},
    {"float32", 4, &number_at<float>},
    {"float16", 2, &half_at<device::Float16Bits>},
    {"bfloat16", 2, &half_at<device::BFloat16Bits>},
    {"int64", 8, &number_at<std::int64_t>},
    {"int32", 4, &number_at<std::int32_t>},
    {"int16", 2, &number_at<std::int16_t>},
    {"int8", 1, &number_at<std::int8_t>},
    {"uint8", 1, &number_at<std::uint8_t>},
    {"bool", 1, &number_at<std::uint8_t>},
};

const Reader* reader_of(std::string_view dtype) {
  const auto* const found = std::find_if(std::begin(kReaders), std::end(kReaders),
                                         [&](const Reader& one) { return one.dtype == dtype; });
  return found == std::end(kReaders) ? nullptr : found;
}

// The elements of a tensor in the order of its indices; none if they leave the bytes.
std::optional<std::vector<double>> elements(Bytes bytes, const Reader& reader,
                                            const checkpoint::TensorEntry& tensor) {
  std::vector<double> numbers;
  std::vector<std::int64_t> at(tensor.shape.size(), 0);
  if (tensor.stride.size() != tensor.shape.size()) return std::nullopt;
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) return numbers;
  for (;;) {
    std::int64_t element = tensor.offset;
    for (std::size_t k = 0; k < at.size(); ++k) element += at[k] * tensor.stride[k];
    if (element < 0) return std::nullopt;
    const std::size_t byte = static_cast<std::size_t>(element) * reader.size;
    if (byte + reader.size > bytes.size()) return std::nullopt;
    numbers.push_back(reader.read(bytes.substr(byte)));
    std::size_t k = at.size();
    while (k > 0 && ++at[k - 1] == tensor.shape[k - 1]) at[--k] = 0;
    if (k == 0) return numbers;
  }
}

std::optional<StoredValues> of_checkpoint(const std::string& path, Bytes file) {
  const auto contents = checkpoint::inspect(path);
  if (!contents || !contents->broken.empty()) return std::nullopt;
  StoredValues values;
  for (const checkpoint::TensorEntry& tensor : contents->tensors) {
    StoredTensor& stored = values.tensors[tensor.path];
    stored.dtype = tensor.dtype;
    stored.shape = tensor.shape;
    const Reader* const reader = reader_of(tensor.dtype);
    if (reader == nullptr || !tensor.storage ||
        (tensor.kind != "tensor" && tensor.kind != "parameter"))
      continue;
    const checkpoint::Storage& storage = contents->storages[*tensor.storage];
    if (!storage.offset || !storage.stored || !storage.file.empty()) continue;
    if (*storage.offset > file.size() || *storage.stored > file.size() - *storage.offset) continue;
    stored.numbers = elements(file.substr(*storage.offset, *storage.stored), *reader, tensor);
  }
  for (const checkpoint::ValueEntry& value : contents->values)
    values.others += fmt::format("{} {}\n", value.path, value.text);
  return values;
}

// The value of a key in the header of an array: "{'descr': '<f4', 'fortran_order': False, ...}".
std::string_view header_value(std::string_view header, std::string_view key) {
  const auto at = header.find(key);
  if (at == std::string_view::npos) return {};
  const auto from = header.find(':', at);
  return from == std::string_view::npos ? std::string_view{} : base::trim(header.substr(from + 1));
}

// numpy/lib/format.py says how the file is laid out.
std::optional<StoredValues> of_array(Bytes file) {
  constexpr std::size_t kBefore = 10;
  if (!file.starts_with("\x93NUMPY\x01") || file.size() < kBefore) return std::nullopt;
  const std::size_t length = static_cast<unsigned char>(file[8]) +
                             static_cast<std::size_t>(static_cast<unsigned char>(file[9])) * 256;
  if (file.size() < kBefore + length) return std::nullopt;
  const std::string_view header = file.substr(kBefore, length);
  const std::string_view descr = header_value(header, "'descr'");
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"'<f8'", "float64"}, {"'<f4'", "float32"}, {"'<f2'", "float16"},
      {"'<i8'", "int64"},   {"'<i4'", "int32"},   {"'<i2'", "int16"},
      {"'|i1'", "int8"},    {"'|u1'", "uint8"},   {"'|b1'", "bool"}};
  StoredTensor stored;
  for (const auto& [name, dtype] : kTypes) {
    if (descr.starts_with(name)) stored.dtype = dtype;
  }
  const Reader* const reader = reader_of(stored.dtype);
  if (reader == nullptr) return std::nullopt;
  StoredValues values;
  const std::string_view shape = header_value(header, "'shape'");
  values.others = fmt::format("{} {}\n", header_value(header, "'fortran_order'").substr(0, 4),
                              shape.substr(0, shape.find(')')));
  const Bytes data = file.substr(kBefore + length);
  stored.numbers.emplace();
  for (std::size_t at = 0; at + reader->size <= data.size(); at += reader->size)
    stored.numbers->push_back(reader->read(data.substr(at)));
  stored.shape = {static_cast<std::int64_t>(stored.numbers->size())};
  values.tensors.emplace("the array", std::move(stored));
  return values;
}

}  // namespace

std::optional<StoredValues> stored_values(const std::string& path) {
  const auto file = base::real_file_system().read(path);
  if (!file) return std::nullopt;
  if (auto array = of_array(*file)) return array;
  return of_checkpoint(path, *file);
}

}  // namespace torchport::proof
