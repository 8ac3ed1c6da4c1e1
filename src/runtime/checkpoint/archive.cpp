#include "runtime/checkpoint/archive.h"

#include <algorithm>

#include <fmt/format.h>
#include <minizip/unzip.h>

namespace torchport::checkpoint {

namespace {

constexpr std::size_t kMostEntries = 4'000'000;
constexpr std::size_t kLongestName = 4096;

// Whether the archive ends with its end record. minizip accepts an archive that has only the ZIP64
// one; torch does not.
bool has_end(std::string_view bytes) {
  constexpr std::size_t kRecord = 22;
  constexpr std::size_t kLongestComment = 0xffff;
  const std::string_view tail =
      bytes.substr(bytes.size() - std::min(bytes.size(), kRecord + kLongestComment));
  for (std::size_t at = tail.rfind("PK\x05\x06"); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : tail.rfind("PK\x05\x06", at - 1)) {
    if (tail.size() - at < kRecord) continue;
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(tail[at + i]); };
    if (at + kRecord + byte(20) + (std::size_t{byte(21)} << 8U) == tail.size()) return true;
  }
  return false;
}

struct Closer {
  void operator()(void* file) const { unzClose(file); }
};
using Zip = std::unique_ptr<void, Closer>;

}  // namespace

base::Result<Archive> Archive::open(const std::string& path, std::string_view bytes) {
  const Zip zip(has_end(bytes) ? unzOpen64(path.c_str()) : nullptr);
  if (!zip)
    return base::fail(
        base::ErrorCode::kSyntax,
        "is a ZIP archive without an end: the file was cut off or is still being written", path);
  Archive archive;
  archive.path_ = path;
  std::string name(kLongestName, '\0');
  int status = unzGoToFirstFile(zip.get());
  while (status == UNZ_OK && archive.entries_.size() < kMostEntries) {
    unz_file_info64 info{};
    if (unzGetCurrentFileInfo64(zip.get(), &info, name.data(), name.size(), nullptr, 0, nullptr,
                                0) != UNZ_OK)
      return base::fail(base::ErrorCode::kSyntax, "is a ZIP archive with a damaged directory",
                        path);
    Entry entry;
    entry.name = name.substr(0, std::min<std::size_t>(info.size_filename, name.size()));
    entry.bytes = info.uncompressed_size;
    entry.stored = info.compression_method == 0;
    // Opening an entry reads its own header, which tells where its bytes begin.
    if (unzOpenCurrentFile(zip.get()) == UNZ_OK) {
      entry.offset = unzGetCurrentFileZStreamPos64(zip.get());
      unzCloseCurrentFile(zip.get());
    }
    unz64_file_pos place{};
    unzGetFilePos64(zip.get(), &place);
    archive.places_.emplace_back(place.pos_in_zip_directory, place.num_of_file);
    archive.entries_.push_back(std::move(entry));
    status = unzGoToNextFile(zip.get());
  }
  if (status != UNZ_END_OF_LIST_OF_FILE)
    return base::fail(base::ErrorCode::kSyntax, "is a ZIP archive with a damaged directory", path);
  return archive;
}

const Archive::Entry* Archive::find(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

base::Result<std::string> Archive::read(const Entry& entry, std::uint64_t most) const {
  if (entry.bytes > most)
    return base::fail(
        base::ErrorCode::kBudget,
        fmt::format("{} has {} bytes; torchport reads at most {}", entry.name, entry.bytes, most),
        path_);
  const Zip zip(unzOpen64(path_.c_str()));
  const auto [position, number] = places_[static_cast<std::size_t>(&entry - entries_.data())];
  const unz64_file_pos place{position, number};
  const auto damaged = [&] {
    return base::fail(base::ErrorCode::kSyntax, fmt::format("{} is damaged", entry.name), path_);
  };
  if (!zip || unzGoToFilePos64(zip.get(), &place) != UNZ_OK ||
      unzOpenCurrentFile(zip.get()) != UNZ_OK)
    return damaged();
  std::string bytes(entry.bytes, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto part = static_cast<unsigned>(std::min<std::size_t>(bytes.size() - have, 1U << 30U));
    const int got = unzReadCurrentFile(zip.get(), bytes.data() + have, part);
    if (got <= 0) return damaged();
    have += static_cast<std::size_t>(got);
  }
  if (unzCloseCurrentFile(zip.get()) != UNZ_OK) return damaged();  // the CRC
  return bytes;
}

}  // namespace torchport::checkpoint
