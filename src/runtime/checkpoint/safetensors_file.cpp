#include "runtime/checkpoint/safetensors_file.h"

#include <array>

#include <nlohmann/json.hpp>

namespace torchport::checkpoint {

namespace {

using Ordered = nlohmann::ordered_json;

Ordered header_of(const std::vector<SafetensorsEntry>& entries, const NamedTexts& shared,
                  const NamedTexts& metadata) {
  Ordered own{{"format", "pt"}};
  for (const auto& [key, value] : metadata) own[key] = value;
  if (!shared.empty()) {
    Ordered names = Ordered::object();
    for (const auto& [name, first] : shared) names[name] = first;
    own["torchport.shared"] = names.dump();
  }
  Ordered header = Ordered::object();
  header["__metadata__"] = std::move(own);
  std::uint64_t at = 0;
  for (const SafetensorsEntry& entry : entries) {
    header[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {at, at + entry.bytes}}};
    at += entry.bytes;
  }
  return header;
}

}  // namespace

base::Result<void> write_safetensors(
    const std::string& path, const std::vector<SafetensorsEntry>& entries, const NamedTexts& shared,
    const NamedTexts& metadata,
    const std::function<base::Result<void>(std::size_t, base::PartialFile&)>& data) {
  std::string header =
      header_of(entries, shared, metadata).dump(-1, ' ', false, Ordered::error_handler_t::replace);
  header.append((8 - header.size() % 8) % 8, ' ');
  auto file = base::PartialFile::create(path);
  if (!file) return tl::unexpected<base::Error>(file.error());
  std::array<unsigned char, 8> size{};
  for (std::size_t i = 0; i < size.size(); ++i)
    size[i] = static_cast<unsigned char>((header.size() >> (8 * i)) & 0xFFU);
  if (auto done = file->write(size.data(), size.size()); !done) return done;
  if (auto done = file->write(header.data(), header.size()); !done) return done;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (auto done = data(i, *file); !done) return done;
  return file->finish();
}

}  // namespace torchport::checkpoint
