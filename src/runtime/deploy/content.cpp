#include "runtime/deploy/content.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <torchport/session.h>
#include <xxhash.h>

#include "base/file_system.h"

namespace torchport::deploy {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20U;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

base::Result<std::string> content_hash(const std::string& path, std::uint64_t bytes) {
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) return base::fail(base::ErrorCode::kIo, "it cannot be read", path);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> piece(kPiece);
  while (bytes > 0) {
    const std::size_t wanted = std::min<std::uint64_t>(bytes, piece.size());
    const std::size_t got = std::fread(piece.data(), 1, wanted, file.get());
    if (got == 0) return base::fail(base::ErrorCode::kIo, "it is cut off", path);
    XXH3_64bits_update(state.get(), piece.data(), got);
    bytes -= got;
  }
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits_digest(state.get())));
  return std::string(text.data());
}

std::string changed_content(const std::string& path, const std::string& contract) {
  const auto json = nlohmann::json::parse(contract);
  const auto list = json.find("content");
  if (list == json.end()) return {};
  for (const auto& entry : *list) {
    const auto name = entry.at("file").get<std::string>();  // the artefact itself has none
    const std::string file = name.empty() ? path : base::join_path(base::parent_path(path), name);
    const auto hash = content_hash(file, entry.at("bytes").get<std::uint64_t>());
    if (!hash) return "the contract says what is in " + file + ": " + hash.error().message;
    if (*hash != entry.at("xxh3").get<std::string>())
      return file +
             " is damaged: its bytes are not those that were exported; copy it again, or export it "
             "again";
  }
  return {};
}

}  // namespace torchport::deploy

namespace torchport {

std::string content_hash(const std::string& path, std::uint64_t bytes) {
  auto hash = deploy::content_hash(path, bytes);
  if (!hash) throw std::runtime_error(path + ": " + hash.error().message);
  return *std::move(hash);
}

}  // namespace torchport
