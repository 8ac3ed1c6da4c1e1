// Finds out whether code knows of accelerators other than CUDA.
#pragma once

#include <string_view>

namespace torchport::rules {

// Whether a text has the name of another kind of device as a word, or as a part between
// underscores: "is_npu", "torch.backends.mps".
[[nodiscard]] bool names_other_kinds(std::string_view text);

}  // namespace torchport::rules
