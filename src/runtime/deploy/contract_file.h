// Where in a file its contract lies.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace torchport::deploy {

// The contract's text out of an artefact's bytes: a record of a ZIP archive that torch wrote, an
// entry of an ONNX model's metadata. kSyntax for a damaged file, kConfig for one without a
// contract.
[[nodiscard]] base::Result<std::string> find_contract(const std::string& path,
                                                      std::string_view bytes);

}  // namespace torchport::deploy
