// Reads the ZIP archives that torch.save, torch.jit.save and torch.export.save write.
//
// minizip walks over the directory, and zlib unpacks entries. minizip does not tell where an
// entry's bytes lie in the file, which a tensor needs to be mapped, and it does not read the sizes
// of entries above 4 GiB (ZIP64), so this class reads the records of the directory itself
// (APPNOTE.TXT of PKWARE, 4.3.12 and 4.5.3). The archive may come from a stranger: offsets and
// sizes in it are checked against the file before they are used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace torchport::checkpoint {

class Archive {
 public:
  struct Entry {
    std::string name;
    std::uint64_t bytes = 0;   // unpacked
    std::uint64_t packed = 0;  // as they are in the file
    bool stored = true;        // not compressed
    std::uint64_t offset = 0;  // where its bytes lie in the file; 0 if its own header is damaged
    std::uint32_t crc = 0;     // 0 if the archive was written without checksums
  };

  // `bytes` is the whole file, which must outlive the archive. Fails with kSyntax if the archive's
  // directory is damaged or cut off.
  [[nodiscard]] static base::Result<Archive> open(const std::string& path, std::string_view bytes);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const Entry* find(std::string_view name) const;
  // Unpacks an entry and checks it against its CRC. Fails with kBudget if it has more than `most`
  // bytes, so that a small archive cannot fill the memory.
  [[nodiscard]] base::Result<std::string> read(const Entry& entry, std::uint64_t most) const;
  // Reads an entry to its end and compares it with its CRC. Returns whether they agree, and nothing
  // if the archive was written without checksums (torch.serialization.set_crc32_options(False)).
  [[nodiscard]] std::optional<bool> is_intact(const Entry& entry) const;

 private:
  [[nodiscard]] std::string_view packed_bytes(const Entry& entry) const;

  std::string path_;
  std::string_view bytes_;
  std::vector<Entry> entries_;
};

}  // namespace torchport::checkpoint
