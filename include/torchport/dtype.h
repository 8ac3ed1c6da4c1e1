// Translates between dtypes and the names that torch's Python, contracts and checkpoints use for
// them. c10::toString() does not serve for this, because it prints C++ names ("Float"). Both
// functions are thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <c10/core/ScalarType.h>
#include <torchport/export.h>

namespace torchport {

// The Python name of a dtype without "torch.": "float32" for Float.
[[nodiscard]] TORCHPORT_API std::string dtype_name(c10::ScalarType dtype);

// The dtype with this name: Float for "float32". Returns none for any other text.
[[nodiscard]] TORCHPORT_API std::optional<c10::ScalarType> dtype_named(std::string_view name);

}  // namespace torchport
