#include "runtime/checkpoint/json.h"

#include <nlohmann/json.hpp>

namespace torchport::checkpoint {

namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string to_json(const std::string& path, const Contents& contents) {
  Json whole{{"path", path}, {"format", contents.format}, {"bytes", contents.bytes()}};
  Json& tensors = whole["tensors"] = Json::array();
  for (const TensorEntry& tensor : contents.tensors) {
    Json entry{{"path", tensor.path},     {"kind", tensor.kind},
               {"dtype", tensor.dtype},   {"shape", tensor.shape},
               {"stride", tensor.stride}, {"offset", tensor.offset},
               {"device", tensor.device}, {"requires_grad", tensor.requires_grad}};
    entry["storage"] =
        tensor.storage ? Json(contents.storages[*tensor.storage].key) : Json(nullptr);
    tensors.push_back(std::move(entry));
  }
  Json& storages = whole["storages"] = Json::array();
  for (const Storage& storage : contents.storages)
    storages.push_back({{"file", storage.file.empty() ? Json(nullptr) : Json(storage.file)},
                        {"key", storage.key},
                        {"dtype", storage.dtype},
                        {"device", storage.device},
                        {"bytes", storage.bytes},
                        {"stored", or_null(storage.stored)},
                        {"offset", or_null(storage.offset)}});
  Json& values = whole["values"] = Json::object();
  for (const ValueEntry& value : contents.values) values[value.path] = value.text;
  whole["globals"] = contents.globals;
  whole["refused"] = contents.refused;
  whole["notes"] = contents.notes;
  whole["broken"] = contents.dangers;
  for (const std::string& fault : contents.broken) whole["broken"].push_back(fault);
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace torchport::checkpoint
