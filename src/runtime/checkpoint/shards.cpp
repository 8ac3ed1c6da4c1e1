#include "runtime/checkpoint/shards.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace torchport::checkpoint {

namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using nlohmann::json;

constexpr std::string_view kEnding = ".index.json";

base::Result<fs::path> index_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().ends_with(kEnding)) found.push_back(it->path());
  }
  if (error) return base::fail(ErrorCode::kIo, error.message(), folder.string());
  if (found.size() == 1) return found.front();
  return base::fail(ErrorCode::kEncoding,
                    found.empty() ? "is a folder without an index (model.safetensors.index.json) "
                                    "or metadata (.metadata): name a file in it"
                                  : "has several index files: name one of them",
                    folder.string());
}

}  // namespace

base::Result<std::optional<ShardIndex>> shard_index_of(const std::string& path) {
  std::error_code error;
  fs::path index = path;
  if (fs::is_directory(path, error)) {
    auto found = index_in(path);
    if (!found) return tl::unexpected<base::Error>(found.error());
    index = std::move(*found);
  } else if (!path.ends_with(kEnding)) {
    return std::optional<ShardIndex>();
  }
  const auto refuse = [&](std::string why) {
    return base::fail(ErrorCode::kSyntax, std::move(why), index.string());
  };
  if (fs::exists(index, error) && !fs::is_regular_file(index, error))
    return refuse("is not a regular file");
  std::ifstream stream(index);
  if (!stream) return base::fail(ErrorCode::kIo, "cannot be read", index.string());
  const json whole = json::parse(stream, nullptr, /*allow_exceptions=*/false);
  const auto map = whole.is_object() ? whole.find("weight_map") : whole.end();
  if (!whole.is_object() || map == whole.end() || !map->is_object())
    return refuse("is not an index of shards: it has no object \"weight_map\"");
  ShardIndex result{index.string(), {}, map->size()};
  for (const auto& [name, file] : map->items()) {
    if (!file.is_string()) return refuse(fmt::format("the file of {} is not a string", name));
    const fs::path shard = file.get<std::string>();
    // A name with a folder could lead to any file of this machine.
    if (shard.filename() != shard || shard.empty())
      return refuse(fmt::format("{} is listed in \"{}\", which is not in the folder of the index",
                                name, shard.string()));
    result.shards[(index.parent_path() / shard).string()].insert(name);
  }
  return std::optional<ShardIndex>(std::move(result));
}

}  // namespace torchport::checkpoint
