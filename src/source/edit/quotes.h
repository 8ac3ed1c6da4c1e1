// Writes the string literals of inserted code in the quotes that fit the place: those that the file
// prefers, or inside of an f-string those that it does not use itself. (Python before 3.12 cannot
// read its own quotes there.)
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "source/semantics/semantic_model.h"

namespace torchport::edit {

// The quotation mark that the file prefers.
[[nodiscard]] char preferred_quote(const semantics::SemanticModel& model);

// The code with its simple string literals in these quotes. Literals of `kept` stay as they are.
[[nodiscard]] std::string in_quotes(std::string_view code, char quote, std::string_view kept = {});

// The code as it may stand at an offset of the file; nothing if it cannot stand there.
[[nodiscard]] std::optional<std::string> fitted_quotes(const semantics::SemanticModel& model,
                                                       std::uint32_t offset, std::string_view code,
                                                       std::string_view replaced);

}  // namespace torchport::edit
