// Writes the structures of libtorchport as JSON text, which operators can return. Python makes its
// own classes of it (python/torchport/_native).
//
// Tensors are no JSON: an operator returns them beside the text. Classes of torch.classes were
// rejected: each structure would be registered with each of its members, and Python still would not
// know their types.
#pragma once

#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <torchport/dtype.h>

#include "json/members.h"

template <>
struct nlohmann::adl_serializer<c10::Device> {
  template <typename Json>
  static void to_json(Json& json, const c10::Device& device) {
    json = device.str();
  }
};

template <>
struct nlohmann::adl_serializer<c10::ScalarType> {
  template <typename Json>
  static void to_json(Json& json, const c10::ScalarType& dtype) {
    json = torchport::dtype_name(dtype);
  }
};

namespace torchport::bindings {

template <typename Value>
std::string as_json(Value value) {
  return json::text_of(json::written(value), -1);
}

}  // namespace torchport::bindings
