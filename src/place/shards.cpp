#include "place/shards.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace torchport {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kEnding = ".index.json";

[[noreturn]] void refuse(const fs::path& path, std::string_view why) {
  throw std::runtime_error(fmt::format("torchport: {}: {}", path.string(), why));
}

fs::path index_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().ends_with(kEnding)) found.push_back(entry.path());
  }
  if (found.size() == 1) return found.front();
  if (found.empty() && fs::exists(folder / ".metadata"))
    refuse(folder,
           "is a checkpoint of torch.distributed.checkpoint: load it with Python's "
           "torchport.load");
  refuse(folder, found.empty()
                     ? "is a folder without an index (model.safetensors.index.json): name "
                       "one of its files"
                     : "has several indices: name one of them");
}

}  // namespace

std::optional<ShardIndex> shard_index_of(const std::string& path) {
  std::error_code error;
  fs::path index = path;
  if (fs::is_directory(path, error))
    index = index_in(path);
  else if (!path.ends_with(kEnding))
    return std::nullopt;
  std::ifstream stream(index);
  const json whole = json::parse(stream, nullptr, /*allow_exceptions=*/false);
  const auto map = whole.is_object() ? whole.find("weight_map") : whole.end();
  if (!whole.is_object() || map == whole.end() || !map->is_object())
    refuse(index, "is no index of shards: it has no object \"weight_map\"");
  ShardIndex result{index.string(), {}, map->size()};
  for (const auto& [name, file] : map->items()) {
    if (!file.is_string()) refuse(index, fmt::format("the file of {} is no string", name));
    const fs::path shard = file.get<std::string>();
    // A name with folders could be any file of this machine.
    if (shard.filename() != shard || shard.empty())
      refuse(index, fmt::format("{} is to be in \"{}\", which is not in the index's own folder",
                                name, shard.string()));
    result.shards[(index.parent_path() / shard).string()].insert(name);
  }
  return result;
}

}  // namespace torchport
