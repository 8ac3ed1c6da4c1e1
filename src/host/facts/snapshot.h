// Facts as JSON: what `torchport doctor --json` writes and `--from` reads.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "host/facts/facts.h"

namespace torchport::host {

[[nodiscard]] std::string to_json(const Facts& facts);
// Missing members are empty ones; unknown members are left out. kSyntax for what is no JSON object
// or has a member of another type, with its name.
[[nodiscard]] base::Result<Facts> from_json(std::string_view text);

}  // namespace torchport::host
