#include "runtime/checkpoint/json.h"

#include <nlohmann/json.hpp>

namespace torchport::checkpoint {

namespace {

using json = nlohmann::ordered_json;

template <class Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json(nullptr);
}

}  // namespace

std::string to_json(const std::string& path, const Contents& contents) {
  json whole{{"path", path}, {"format", contents.format}, {"bytes", contents.bytes()}};
  json& tensors = whole["tensors"] = json::array();
  for (const TensorEntry& tensor : contents.tensors) {
    json entry{{"path", tensor.path},     {"kind", tensor.kind},
               {"dtype", tensor.dtype},   {"shape", tensor.shape},
               {"stride", tensor.stride}, {"offset", tensor.offset},
               {"device", tensor.device}, {"requires_grad", tensor.requires_grad}};
    entry["storage"] =
        tensor.storage ? json(contents.storages[*tensor.storage].key) : json(nullptr);
    tensors.push_back(std::move(entry));
  }
  json& storages = whole["storages"] = json::array();
  for (const Storage& storage : contents.storages)
    storages.push_back({{"file", storage.file.empty() ? json(nullptr) : json(storage.file)},
                        {"key", storage.key},
                        {"dtype", storage.dtype},
                        {"device", storage.device},
                        {"bytes", storage.bytes},
                        {"stored", or_null(storage.stored)},
                        {"offset", or_null(storage.offset)}});
  json& values = whole["values"] = json::object();
  for (const ValueEntry& value : contents.values) values[value.path] = value.text;
  whole["globals"] = contents.globals;
  whole["refused"] = contents.refused;
  whole["notes"] = contents.notes;
  whole["broken"] = contents.broken;
  return whole.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace torchport::checkpoint
