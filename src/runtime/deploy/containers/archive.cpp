// Reads contracts of PyTorch's ZIP archives, where the contract is a record of its own.
#include "runtime/checkpoint/archive.h"

#include <cstdint>

#include "runtime/deploy/containers/container.h"

namespace torchport::deploy {

namespace {

using base::Result;

constexpr std::string_view kRecord = "/extra/torchport.json";
constexpr std::uint64_t kMostBytes = 64ULL << 20;

bool recognises(std::string_view bytes) {
  return bytes.starts_with("PK");
}

Result<std::string> read_archive(const std::string& path, std::string_view bytes) {
  const auto archive = checkpoint::Archive::open(path, bytes);
  if (!archive) return tl::unexpected(archive.error());
  for (const auto& entry : archive->entries()) {
    if (entry.name.ends_with(kRecord)) return archive->read(entry, kMostBytes);
  }
  return no_contract(path);
}

const ContainerRegistration kArchive({.recognises = &recognises, .read = &read_archive});

}  // namespace

}  // namespace torchport::deploy
