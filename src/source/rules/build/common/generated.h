// Recognises requirements files that a program writes (pip-compile, uv, poetry): a change there is
// lost when the file is written again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace torchport::rules {

// What to change instead of a generated requirements file: "`requirements.in`", "its source" if the
// file does not say. None for a file that people write.
[[nodiscard]] std::optional<std::string> source_of_generated(std::string_view path,
                                                             std::string_view text);

}  // namespace torchport::rules
