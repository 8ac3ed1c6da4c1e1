// Reads the archives of torch.export.save since torch 2.8 (torch/export/pt2_archive/constants.py
// and torch/_export/serde/schema.py): raw weights, and JSON that describes them.
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/formats.h"

namespace torchport::checkpoint {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMostJson = std::uint64_t{256} << 20U;

// The dtype with this number in the schema's ScalarType.
std::string dtype_numbered(std::int64_t number) {
  static constexpr std::array<std::string_view, 14> kLow{
      "",        "uint8",   "int8",      "int16",     "int32",      "int64", "float16",
      "float32", "float64", "complex32", "complex64", "complex128", "bool",  "bfloat16"};
  static constexpr std::array<std::string_view, 8> kHigh{
      "uint16",          "float8_e4m3fn",  "float8_e5m2", "float8_e4m3fnuz",
      "float8_e5m2fnuz", "float8_e8m0fnu", "uint32",      "uint64"};
  if (number >= 0 && number < static_cast<std::int64_t>(kLow.size()))
    return std::string(kLow[static_cast<std::size_t>(number)]);
  if (number >= 28 && number < 36) return std::string(kHigh[static_cast<std::size_t>(number - 28)]);
  return {};
}

std::int64_t integer(const json& holder, const char* key, std::int64_t otherwise = 0) {
  if (!holder.is_object()) return otherwise;
  const auto found = holder.find(key);
  return found != holder.end() && found->is_number_integer() ? found->get<std::int64_t>()
                                                             : otherwise;
}

const json& member(const json& holder, const char* key) {
  static const json kNone;
  if (!holder.is_object()) return kNone;
  const auto found = holder.find(key);
  return found == holder.end() ? kNone : *found;
}

void sizes(const json& list, std::vector<std::int64_t>& out) {
  if (!list.is_array()) return;
  for (const json& size : list) out.push_back(integer(size, "as_int", -1));
}

std::string text(const json& holder, const char* key) {
  const json& value = member(holder, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

void add_weight(const Archive& archive, const std::string& folder, const std::string& name,
                const json& entry, Contents& contents) {
  const json& meta = member(entry, "tensor_meta");
  const std::string file = text(entry, "path_name");
  TensorEntry tensor;
  tensor.path = name;
  tensor.kind = member(entry, "is_param") == true ? "parameter" : "tensor";
  tensor.dtype = dtype_numbered(integer(meta, "dtype"));
  sizes(member(meta, "sizes"), tensor.shape);
  sizes(member(meta, "strides"), tensor.stride);
  tensor.offset = integer(member(meta, "storage_offset"), "as_int");
  tensor.requires_grad = member(meta, "requires_grad") == true;
  tensor.device = text(member(meta, "device"), "type");
  const std::int64_t index = integer(member(meta, "device"), "index", -1);
  if (index >= 0) tensor.device += fmt::format(":{}", index);
  if (member(entry, "use_pickle") == true) {  // an object of Python around other tensors
    tensor.kind = "subclass";
    contents.tensors.push_back(std::move(tensor));
    return;
  }
  for (std::size_t i = 0; i < contents.storages.size(); ++i)
    if (contents.storages[i].key == file) tensor.storage = i;
  if (!tensor.storage) {
    Storage storage{file, tensor.dtype, tensor.device, 0, std::nullopt, std::nullopt, {}};
    if (const Archive::Entry* weight = archive.find(folder + file)) {
      storage.bytes = weight->bytes;
      storage.stored = weight->bytes;
      if (weight->stored) storage.offset = weight->offset;
    } else {
      contents.broken.push_back(fmt::format("{} is not in the file", folder + file));
    }
    tensor.storage = contents.storages.size();
    contents.storages.push_back(std::move(storage));
  }
  contents.tensors.push_back(std::move(tensor));
}

}  // namespace

base::Result<Contents> inspect_export(const Archive& archive, const std::string& root) {
  Contents contents;
  contents.format = "torch.export";
  bool found = false;
  for (const Archive::Entry& entry : archive.entries()) {
    if (!entry.name.starts_with(root + "data/") || !entry.name.ends_with("_config.json")) continue;
    found = true;
    const auto bytes = archive.read(entry, kMostJson);
    if (!bytes) return tl::unexpected<base::Error>(bytes.error());
    const json whole = json::parse(*bytes, nullptr, false);
    const json& config = member(whole, "config");
    if (!config.is_object()) {
      contents.broken.push_back(fmt::format("{} is damaged", entry.name));
      continue;
    }
    const std::string folder = entry.name.substr(0, entry.name.rfind('/') + 1);
    for (const auto& [name, weight] : config.items())
      add_weight(archive, folder, name, weight, contents);
  }
  if (!found)
    contents.notes.emplace_back("its weights are not listed: a torch before 2.8 stored them");
  return contents;
}

}  // namespace torchport::checkpoint
