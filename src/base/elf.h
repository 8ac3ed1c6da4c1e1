// Reads what torchport needs from ELF files: notes, names of libraries, symbols. Only 64-bit
// little-endian files are read, because all machines that torch has builds for use these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace torchport::base {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint32_t link = 0;
  std::string_view content;  // empty for sections without bytes in the file
};

struct ElfNote {
  std::string_view name;
  std::uint32_t type = 0;
  std::string_view description;
};

struct ElfSymbol {
  std::string_view name;
  bool defined = false;
  bool global = false;
  bool weak = false;  // if it is not defined, it may be absent
};

// This is a view: the bytes must outlive it. No offset of the file is trusted. An entry that points
// outside of the file reads as empty, and a table that does is an error.
class ElfFile {
 public:
  // Fails with kSyntax for a file that is not ELF, is of another kind, or ends before its headers
  // do.
  [[nodiscard]] static Result<ElfFile> parse(std::string_view bytes);

  [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
  [[nodiscard]] std::string_view section(std::string_view name) const;
  // The notes of sections or, in files without section headers, of segments.
  [[nodiscard]] std::vector<ElfNote> notes() const;
  [[nodiscard]] std::vector<std::string_view> needed() const;    // DT_NEEDED
  [[nodiscard]] std::vector<ElfSymbol> symbols() const;          // of .symtab
  [[nodiscard]] std::vector<ElfSymbol> dynamic_symbols() const;  // of .dynsym

 private:
  [[nodiscard]] std::vector<ElfSymbol> symbols_of(std::uint32_t type) const;

  std::vector<ElfSection> sections_;
  std::vector<std::string_view> note_segments_;
};

}  // namespace torchport::base
