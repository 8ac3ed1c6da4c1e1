// Writes facts as JSON and reads them again: `torchport doctor --json` writes them, and `--from`
// reads them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "host/facts/facts.h"

namespace torchport::host {

[[nodiscard]] std::string to_json(const Facts& facts);
// A missing member stays empty, and an unknown one is ignored. Fails with kSyntax for text that is
// not a JSON object, and for a member of another type, which the message names.
[[nodiscard]] base::Result<Facts> from_json(std::string_view text);

}  // namespace torchport::host
