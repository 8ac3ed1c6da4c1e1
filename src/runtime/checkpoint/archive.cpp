#include "runtime/checkpoint/archive.h"

#include <algorithm>

#include <fmt/format.h>
#include <minizip/unzip.h>
#include <zlib.h>

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

// Reads little-endian numbers from the file; 0 beyond its end.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t at(std::uint64_t offset, unsigned width) const {
    if (offset > bytes_.size() || width > bytes_.size() - offset) return 0;
    std::uint64_t value = 0;
    for (unsigned i = width; i-- > 0;)
      value = value << 8U | static_cast<std::uint8_t>(bytes_[offset + i]);
    return value;
  }

 private:
  std::string_view bytes_;
};

constexpr std::uint64_t kInExtra = 0xffff'ffff;  // the number is in the ZIP64 field

// Reads what minizip does not tell from the record of the directory at `at`.
bool read_record(const Numbers& file, std::uint64_t at, Archive::Entry& entry) {
  if (file.at(at, 4) != 0x0201'4b50) return false;
  entry.stored = file.at(at + 10, 2) == 0;
  entry.crc = static_cast<std::uint32_t>(file.at(at + 16, 4));
  entry.packed = file.at(at + 20, 4);
  entry.bytes = file.at(at + 24, 4);
  std::uint64_t header = file.at(at + 42, 4);
  std::uint64_t field = at + 46 + file.at(at + 28, 2);
  const std::uint64_t end = field + file.at(at + 30, 2);
  while (field + 4 <= end) {
    std::uint64_t value = field + 4;
    const std::uint64_t next = value + file.at(field + 2, 2);
    if (file.at(field, 2) == 1) {
      for (std::uint64_t* number : {&entry.bytes, &entry.packed, &header}) {
        if (*number != kInExtra || value + 8 > next) continue;
        *number = file.at(value, 8);
        value += 8;
      }
    }
    field = next;
  }
  // The entry's own header has a name and a field of its own sizes.
  if (file.at(header, 4) == 0x0403'4b50)
    entry.offset = header + 30 + file.at(header + 26, 2) + file.at(header + 28, 2);
  return true;
}

// Unpacks raw DEFLATE data, and gives the parts to `take`. Returns whether it is whole.
template <class Take>
bool inflate_all(std::string_view packed, const Take& take) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  std::string part(std::size_t{1} << 18U, '\0');
  int status = Z_OK;
  while (status == Z_OK) {
    if (stream.avail_in == 0) {
      const auto count = std::min<std::size_t>(packed.size(), std::size_t{1} << 30U);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream.avail_in = static_cast<uInt>(count);
      packed.remove_prefix(count);
    }
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = part.size() - stream.avail_out;
    if (!take(std::string_view(part).substr(0, made))) status = Z_DATA_ERROR;
    if (status == Z_BUF_ERROR || (status == Z_OK && made == 0 && packed.empty())) break;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END;
}

std::uint32_t crc_of(std::string_view bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::string_view Archive::packed_bytes(const Entry& entry) const {
  if (entry.offset == 0 || entry.offset > bytes_.size() ||
      entry.packed > bytes_.size() - entry.offset || (entry.stored && entry.packed != entry.bytes))
    return {};
  return bytes_.substr(entry.offset, entry.packed);
}

std::optional<bool> Archive::is_intact(const Entry& entry) const {
  const std::string_view packed = packed_bytes(entry);
  if (packed.size() != entry.packed) return false;
  std::uint32_t crc = entry.stored ? crc_of(packed) : 0;
  std::uint64_t have = entry.stored ? packed.size() : 0;
  const bool whole = entry.stored || inflate_all(packed, [&](std::string_view part) {
                       crc = crc_of(part, crc);
                       return (have += part.size()) <= entry.bytes;
                     });
  if (!whole || have != entry.bytes) return false;
  if (entry.crc == 0 && crc != 0) return std::nullopt;
  return crc == entry.crc;
}

base::Result<Archive> Archive::open(const std::string& path, std::string_view bytes) {
  const Zip zip(has_end(bytes) ? unzOpen64(path.c_str()) : nullptr);
  if (!zip)
    return base::fail(
        base::ErrorCode::kSyntax,
        "is a ZIP archive without an end: the file was cut off or is still being written", path);
  Archive archive;
  archive.path_ = path;
  archive.bytes_ = bytes;
  const Numbers numbers(bytes);
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
    unz64_file_pos place{};
    unzGetFilePos64(zip.get(), &place);
    if (!read_record(numbers, place.pos_in_zip_directory, entry)) {
      status = UNZ_BADZIPFILE;
      break;
    }
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
  const auto damaged = [&] {
    return base::fail(base::ErrorCode::kSyntax, fmt::format("{} is damaged", entry.name), path_);
  };
  const std::string_view packed = packed_bytes(entry);
  if (packed.size() != entry.packed) return damaged();
  std::string bytes;
  if (entry.stored) {
    bytes = packed;
  } else {
    const auto take = [&](std::string_view part) {
      bytes += part;
      return bytes.size() <= entry.bytes;
    };
    if (!inflate_all(packed, take)) return damaged();
  }
  if (bytes.size() != entry.bytes) return damaged();
  if (entry.crc != 0 && crc_of(bytes) != entry.crc) return damaged();
  return bytes;
}

}  // namespace torchport::checkpoint
