// Dtypes by the names that torch's Python, contracts and checkpoints call them by.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <c10/core/ScalarType.h>
#include <torchport/export.h>

namespace torchport {

// "float32" for Float.
[[nodiscard]] TORCHPORT_API std::string dtype_name(c10::ScalarType dtype);

// Float for "float32"; none for what is no dtype's name.
[[nodiscard]] TORCHPORT_API std::optional<c10::ScalarType> dtype_named(std::string_view name);

}  // namespace torchport
