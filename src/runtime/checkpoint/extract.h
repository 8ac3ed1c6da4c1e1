// Copies the tensors of a checkpoint into a safetensors file, without torch and without running
// anything of the checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace torchport::checkpoint {

struct Extracted {
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> left_out;  // "name, because it is quantized"
};

// Writes the tensors of the checkpoint `path` to `target`. With a `key` it writes those under this
// name, without it: "model" for "model.layer.weight". Tensors that are the same memory are written
// once. Fails if the checkpoint is damaged, has no tensors (under the key) or is compressed, and if
// the file cannot be written; `target` then stays as it was. Thread safe for different targets.
[[nodiscard]] base::Result<Extracted> extract(const std::string& path, const std::string& target,
                                              const std::string& key);

}  // namespace torchport::checkpoint
