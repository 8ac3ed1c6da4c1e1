// Finds out quickly whether a file can matter.
#pragma once

#include <string_view>

namespace torchport::rules {

// Whether a text contains torch, cuda, CUDA, nccl or pin_memory: every rule needs one of them.
[[nodiscard]] bool speaks_of_devices(std::string_view text);

}  // namespace torchport::rules
