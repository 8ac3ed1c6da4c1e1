// A ZIP archive, as torch.save, torch.jit.save and torch.export.save write them.
#pragma once

#include <cstdint>
#include <memory>
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
    bool stored = true;        // not compressed: its bytes are at `offset` in the file
    std::uint64_t offset = 0;  // 0 where the entry's own header is damaged
  };

  // `bytes`: all of the file's. kSyntax where the archive's directory is damaged or cut off.
  [[nodiscard]] static base::Result<Archive> open(const std::string& path, std::string_view bytes);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const Entry* find(std::string_view name) const;
  // An entry's bytes, checked against its CRC; kBudget where there are more than `most`.
  [[nodiscard]] base::Result<std::string> read(const Entry& entry, std::uint64_t most) const;

 private:
  std::string path_;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places_;  // minizip's, one an entry
};

}  // namespace torchport::checkpoint
