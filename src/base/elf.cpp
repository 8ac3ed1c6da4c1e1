#include "base/elf.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include <elf.h>

namespace torchport::base {

namespace {

// None if it lies outside of the bytes.
template <class T>
std::optional<T> structure_at(std::string_view bytes, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::optional<std::string_view> range(std::string_view bytes, std::uint64_t offset,
                                      std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.substr(offset, size);
}

std::string_view string_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

tl::unexpected<Error> no_elf(std::string message) {
  return fail(ErrorCode::kSyntax, std::move(message));
}

constexpr std::uint64_t padded(std::uint64_t size) {
  return (size + 3) & ~std::uint64_t{3};
}

void read_notes(std::string_view bytes, std::vector<ElfNote>& notes) {
  while (const auto header = structure_at<Elf64_Nhdr>(bytes, 0)) {
    const std::uint64_t description = sizeof(Elf64_Nhdr) + padded(header->n_namesz);
    const auto name = range(bytes, sizeof(Elf64_Nhdr), header->n_namesz);
    const auto text = range(bytes, description, header->n_descsz);
    if (!name || !text) return;
    notes.push_back({name->substr(0, name->find('\0')), header->n_type, *text});
    bytes.remove_prefix(
        std::min<std::uint64_t>(description + padded(header->n_descsz), bytes.size()));
  }
}

}  // namespace

Result<ElfFile> ElfFile::parse(std::string_view bytes) {
  if (!bytes.starts_with(std::string_view(ELFMAG, SELFMAG))) return no_elf("is not an ELF file");
  const auto header = structure_at<Elf64_Ehdr>(bytes, 0);
  if (!header) return no_elf("is cut off: it ends within the ELF header");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return no_elf("is not a 64-bit little-endian ELF file");
  ElfFile file;
  std::vector<Elf64_Shdr> headers;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = structure_at<Elf64_Shdr>(bytes, header->e_shoff + i * header->e_shentsize);
    if (!section) return no_elf("is cut off: some of its section headers are missing");
    headers.push_back(*section);
  }
  std::string_view names;
  if (header->e_shstrndx < headers.size()) {
    const Elf64_Shdr& table = headers[header->e_shstrndx];
    names = range(bytes, table.sh_offset, table.sh_size).value_or(std::string_view());
  }
  for (const Elf64_Shdr& one : headers) {
    auto content = std::optional<std::string_view>(std::string_view());
    if (one.sh_type != SHT_NOBITS) content = range(bytes, one.sh_offset, one.sh_size);
    if (!content) return no_elf("is cut off: a section ends after the end of the file");
    file.sections_.push_back({string_at(names, one.sh_name), one.sh_type, one.sh_link, *content});
  }
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = structure_at<Elf64_Phdr>(bytes, header->e_phoff + i * header->e_phentsize);
    if (!segment) return no_elf("is cut off: some of its program headers are missing");
    if (segment->p_type != PT_NOTE) continue;
    if (const auto content = range(bytes, segment->p_offset, segment->p_filesz))
      file.note_segments_.push_back(*content);
  }
  return file;
}

std::string_view ElfFile::section(std::string_view name) const {
  for (const ElfSection& one : sections_)
    if (one.name == name) return one.content;
  return {};
}

std::vector<ElfNote> ElfFile::notes() const {
  std::vector<ElfNote> notes;
  for (const ElfSection& one : sections_)
    if (one.type == SHT_NOTE) read_notes(one.content, notes);
  if (sections_.empty())
    for (const std::string_view segment : note_segments_) read_notes(segment, notes);
  return notes;
}

std::vector<std::string_view> ElfFile::needed() const {
  std::vector<std::string_view> names;
  for (const ElfSection& one : sections_) {
    if (one.type != SHT_DYNAMIC || one.link >= sections_.size()) continue;
    const std::string_view strings = sections_[one.link].content;
    for (std::uint64_t at = 0; const auto entry = structure_at<Elf64_Dyn>(one.content, at);
         at += sizeof(Elf64_Dyn))
      if (entry->d_tag == DT_NEEDED) names.push_back(string_at(strings, entry->d_un.d_val));
  }
  return names;
}

std::vector<ElfSymbol> ElfFile::symbols() const {
  return symbols_of(SHT_SYMTAB);
}

std::vector<ElfSymbol> ElfFile::dynamic_symbols() const {
  return symbols_of(SHT_DYNSYM);
}

std::vector<ElfSymbol> ElfFile::symbols_of(std::uint32_t type) const {
  std::vector<ElfSymbol> symbols;
  for (const ElfSection& one : sections_) {
    if (one.type != type || one.link >= sections_.size()) continue;
    const std::string_view strings = sections_[one.link].content;
    for (std::uint64_t at = 0; const auto symbol = structure_at<Elf64_Sym>(one.content, at);
         at += sizeof(Elf64_Sym))
      symbols.push_back({string_at(strings, symbol->st_name), symbol->st_shndx != SHN_UNDEF,
                         ELF64_ST_BIND(symbol->st_info) != STB_LOCAL,
                         ELF64_ST_BIND(symbol->st_info) == STB_WEAK});
  }
  return symbols;
}

}  // namespace torchport::base
