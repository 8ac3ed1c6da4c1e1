// Reads safetensors files: eight bytes of header size, the header as JSON, then the data.
// https://github.com/huggingface/safetensors#format
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/formats.h"

namespace torchport::checkpoint {

namespace {

using Json = nlohmann::ordered_json;  // keeps the tensors in the file's order

constexpr std::uint64_t kMostHeader = 100'000'000;  // the format's own limit

std::uint64_t header_size(std::string_view bytes) {
  std::uint64_t size = 0;
  for (unsigned i = 0; i < 8; ++i)
    size |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  return size;
}

// Sets row-major strides, which all data of this format has.
void set_contiguous(TensorEntry& tensor) {
  tensor.stride.resize(tensor.shape.size());
  std::uint64_t step = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    tensor.stride[i] = static_cast<std::int64_t>(step);
    step *= std::max<std::uint64_t>(static_cast<std::uint64_t>(tensor.shape[i]), 1);
  }
}

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string name;
};

// Adds a tensor. Returns false, with a note in `broken`, if the entry violates the format.
bool add_entry(const std::string& name, const Json& entry, std::uint64_t data, Contents& contents,
               std::vector<Range>& ranges) {
  TensorEntry tensor;
  tensor.path = name;
  tensor.kind = "tensor";
  tensor.device = "cpu";
  const auto wrong = [&](std::string_view what) {
    contents.broken.push_back(fmt::format("{}: {}", name, what));
    return false;
  };
  if (!entry.is_object()) return wrong("its entry is not a JSON object");
  const auto dtype = entry.find("dtype");
  const auto shape = entry.find("shape");
  const auto offsets = entry.find("data_offsets");
  if (dtype == entry.end() || !dtype->is_string()) return wrong("it has no dtype");
  tensor.dtype = dtype_named(dtype->get<std::string>());
  if (shape == entry.end() || !shape->is_array() ||
      !std::all_of(shape->begin(), shape->end(),
                   [](const Json& size) { return size.is_number_unsigned(); }))
    return wrong("its shape is not a list of sizes");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned())
    return wrong("its data_offsets are not two numbers");
  std::uint64_t elements = 1;
  for (const Json& size : *shape) {
    if (size.get<std::uint64_t>() > INT64_MAX) return wrong("its shape has an impossible size");
    tensor.shape.push_back(size.get<std::int64_t>());
    if (__builtin_mul_overflow(elements, size.get<std::uint64_t>(), &elements))
      return wrong("its shape has too many elements");
  }
  Storage storage;
  storage.key = name;
  storage.dtype = tensor.dtype;
  storage.device = "cpu";
  const Range range{(*offsets)[0].get<std::uint64_t>(), (*offsets)[1].get<std::uint64_t>(), name};
  if (range.end < range.begin) return wrong("its data ends before it begins");
  storage.bytes = range.end - range.begin;
  const std::uint64_t available = data - std::min(data, range.begin);
  storage.stored = std::min(storage.bytes, available);
  const unsigned size = element_size(tensor.dtype);
  if (size == 0)
    contents.notes.push_back(fmt::format("{} is of type {}, which torch 2.13 does not have", name,
                                         dtype->get<std::string>()));
  else if (elements > UINT64_MAX / size || elements * size != storage.bytes)
    wrong(fmt::format("its shape needs {} elements of {} bytes, but its data has {} bytes",
                      elements, size, storage.bytes));
  if (*storage.stored < storage.bytes)
    wrong(fmt::format("the file ends {} bytes before its data does",
                      storage.bytes - *storage.stored));
  tensor.storage = contents.storages.size();
  set_contiguous(tensor);
  ranges.push_back(range);
  contents.storages.push_back(std::move(storage));
  contents.tensors.push_back(std::move(tensor));
  return true;
}

// Reads which tensors torchport.save wrote only once, under the first of their names.
void read_shared(const Json& metadata, Contents& contents) {
  const auto found = metadata.is_object() ? metadata.find("torchport.shared") : metadata.end();
  if (!metadata.is_object() || found == metadata.end() || !found->is_string()) return;
  const Json shared = Json::parse(found->get<std::string>(), nullptr, false);
  if (!shared.is_object()) {
    contents.broken.emplace_back("its metadata torchport.shared is not a JSON object of names");
    return;
  }
  for (const auto& [name, first] : shared.items()) {
    if (first.is_string()) contents.shared.emplace_back(name, first.get<std::string>());
  }
}

void check_ranges(std::vector<Range>& ranges, std::uint64_t data, Contents& contents) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const Range& range : ranges) {
    if (range.begin < end)
      contents.broken.push_back(fmt::format("{}: its data overlaps another's", range.name));
    else if (range.begin > end)
      contents.broken.push_back(
          fmt::format("{} bytes before {} belong to no tensor", range.begin - end, range.name));
    end = std::max(end, range.end);
  }
  if (data > end)
    contents.broken.push_back(fmt::format("{} bytes at the end belong to no tensor", data - end));
}

}  // namespace

bool is_safetensors(std::string_view bytes) {
  if (bytes.size() < 9 || bytes[8] != '{') return false;
  const std::uint64_t size = header_size(bytes);
  return size >= 2 && size <= kMostHeader;
}

base::Result<Contents> inspect_safetensors(std::string_view bytes) {
  const std::uint64_t size = header_size(bytes);
  if (size > bytes.size() - 8)
    return base::fail(
        base::ErrorCode::kSyntax,
        fmt::format(
            "is a safetensors file that was cut off: its header has {} bytes, but the file has {}",
            size, bytes.size()));
  const Json header = Json::parse(bytes.substr(8, size), nullptr, false);
  if (!header.is_object())
    return base::fail(base::ErrorCode::kSyntax, "is a safetensors file with a damaged header");
  Contents contents;
  contents.format = "safetensors";
  const std::uint64_t data = bytes.size() - 8 - size;
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      read_shared(entry, contents);
      for (const auto& [key, value] : entry.items())
        contents.values.push_back(
            {fmt::format("__metadata__.{}", key),
             value.is_string() ? fmt::format("'{}'", value.get<std::string>()) : value.dump()});
    } else {
      add_entry(name, entry, data, contents, ranges);
    }
  }
  for (std::size_t i = 0; i < ranges.size(); ++i)
    contents.storages[i].offset = 8 + size + ranges[i].begin;
  check_ranges(ranges, data, contents);
  return contents;
}

}  // namespace torchport::checkpoint
