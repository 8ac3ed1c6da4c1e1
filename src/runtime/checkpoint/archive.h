// Reads the ZIP archives that torch.save, torch.jit.save and torch.export.save write.
//
// minizip reads the directory and unpacks entries, but does not tell where an entry's bytes lie in
// the file. A tensor needs that to be mapped, so this class finds the offsets. The archive may come
// from a stranger: offsets and sizes in it are checked against the file before they are used.
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
    bool stored = true;        // not compressed: its bytes lie at `offset` in the file
    std::uint64_t offset = 0;  // 0 if the entry's own header is damaged
  };

  // `bytes` is the whole file. Fails with kSyntax if the archive's directory is damaged or cut off.
  [[nodiscard]] static base::Result<Archive> open(const std::string& path, std::string_view bytes);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const Entry* find(std::string_view name) const;
  // Unpacks an entry and checks it against its CRC. Fails with kBudget if it has more than `most`
  // bytes, so that a small archive cannot fill the memory.
  [[nodiscard]] base::Result<std::string> read(const Entry& entry, std::uint64_t most) const;

 private:
  std::string path_;
  std::vector<Entry> entries_;
  // minizip's positions, one per entry.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places_;
};

}  // namespace torchport::checkpoint
