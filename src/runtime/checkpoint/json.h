// Writes the contents of a checkpoint as JSON, for `torchport inspect --json`.
#pragma once

#include <string>

#include "runtime/checkpoint/contents.h"

namespace torchport::checkpoint {

// The contents as one JSON object. Names in a checkpoint can be any bytes, so bytes that are not
// UTF-8 are replaced; this never fails.
[[nodiscard]] std::string to_json(const std::string& path, const Contents& contents);

}  // namespace torchport::checkpoint
