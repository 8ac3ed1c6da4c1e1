// Reads the index of a folder of safetensors, as Hugging Face's libraries write it. inspect() and
// load_tensors() share it, so that both accept and refuse the same folders.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"

namespace torchport::checkpoint {

struct ShardIndex {
  std::string file;  // the path of the index
  // path of a file -> names of the tensors in it
  std::map<std::string, std::set<std::string>> shards;
  std::size_t tensors = 0;
};

// The index at `path`, or in the folder `path` if the folder has exactly one; none for any other
// regular file. Fails with kSyntax if the index is damaged or names a file outside of its folder,
// and with kEncoding for a folder without an index.
[[nodiscard]] base::Result<std::optional<ShardIndex>> shard_index_of(const std::string& path);

}  // namespace torchport::checkpoint
