// The bytes of an artefact's files, which its contract lists with their hashes, so that a damaged
// file is refused and does not compute something else.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace torchport::deploy {

// XXH3 (64 bits, as 16 hexadecimal digits) of the first `bytes` bytes of a file. Fails with kIo if
// the file cannot be read or is shorter. It reads the file, so that it stays an error if the file
// shrinks meanwhile. Thread safe.
[[nodiscard]] base::Result<std::string> content_hash(const std::string& path, std::uint64_t bytes);

// Why the files are not those that were exported; empty if they are, or if the contract (its JSON)
// is of a torchport that wrote no hashes. `path` is the artefact. Thread safe. Throws
// nlohmann::json::exception if the contract's list has not its form.
[[nodiscard]] std::string changed_content(const std::string& path, const std::string& contract);

}  // namespace torchport::deploy
