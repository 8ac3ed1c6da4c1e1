// Builds the values that the parts of the inference return. It is private to this layer.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

inline Value of(Type type, Node origin, DeviceState place = DeviceState::kUnknown,
                std::string text = {}) {
  Value value;
  value.type = type;
  value.device_state = place;
  value.text = std::move(text);
  value.origin = origin;
  return value;
}

inline bool is_numpy_name(std::string_view name) {
  return name == "numpy" || name.starts_with("numpy.");
}

}  // namespace torchport::semantics
