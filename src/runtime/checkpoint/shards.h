// Folders of safetensors with an index, as Hugging Face's libraries write them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"

namespace torchport::checkpoint {

struct ShardIndex {
  std::string file;                                     // the index itself
  std::map<std::string, std::set<std::string>> shards;  // path of a file -> names taken from it
  std::size_t tensors = 0;
};

// The index where `path` is one, or a folder with exactly one; none for a regular file. kSyntax for
// an index that is damaged or names a file outside of its folder, kEncoding for a folder without
// one.
[[nodiscard]] base::Result<std::optional<ShardIndex>> shard_index_of(const std::string& path);

}  // namespace torchport::checkpoint
