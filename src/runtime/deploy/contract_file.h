// Reads the contract out of any artefact. This is what Session and read_contract() call; they do
// not know the containers.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace torchport::deploy {

// The contract's text in an artefact's bytes: a record of a ZIP archive that torch wrote, or an
// entry of an ONNX model's metadata. Fails with kSyntax for a damaged file and with kConfig for one
// without a contract. Thread safe.
[[nodiscard]] base::Result<std::string> find_contract(const std::string& path,
                                                      std::string_view bytes);

}  // namespace torchport::deploy
