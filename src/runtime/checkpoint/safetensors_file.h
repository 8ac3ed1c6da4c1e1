// Writes safetensors files from the bytes of tensors:
// https://github.com/huggingface/safetensors#format
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/partial_file.h"
#include "base/result.h"

namespace torchport::checkpoint {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // in the words of safetensors: "F32"
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
};

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

// Writes the file completely or not at all. `data` writes the bytes of the entry at an index, which
// must be as many as the entry has; it is called once for each entry in their order. `shared` are
// names of tensors that are the same memory as an entry, with the entry's name; they are in the
// metadata, because the format cannot express sharing. Fails with kIo.
[[nodiscard]] base::Result<void> write_safetensors(
    const std::string& path, const std::vector<SafetensorsEntry>& entries, const NamedTexts& shared,
    const NamedTexts& metadata,
    const std::function<base::Result<void>(std::size_t, base::PartialFile&)>& data);

}  // namespace torchport::checkpoint
