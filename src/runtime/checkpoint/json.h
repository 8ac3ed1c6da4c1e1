#pragma once

#include <string>

#include "runtime/checkpoint/contents.h"

namespace torchport::checkpoint {

// The whole contents as one JSON object; text that is no UTF-8 has its bytes replaced.
[[nodiscard]] std::string to_json(const std::string& path, const Contents& contents);

}  // namespace torchport::checkpoint
