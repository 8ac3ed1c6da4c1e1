#include "build_gate/provenance.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/elf.h"
#include "json/members.h"

namespace torchport::build_gate {

template <class Visit>
void members(Provenance& provenance, Visit&& visit) {
  visit("torchport", provenance.torchport);
  visit("extension", provenance.extension);
  visit("built_by", provenance.built_by);
  visit("torch", provenance.torch);
  visit("torch_cuda", provenance.torch_cuda);
  visit("cxx11_abi", provenance.cxx11_abi);
  visit("outcome", provenance.outcome);
  visit("code", provenance.code);
  visit("reason", provenance.reason);
  visit("remedy", provenance.remedy);
  visit("archs", provenance.archs);
  visit("nvcc", provenance.nvcc);
}

namespace {

// The headers of a "fatbin", which nvcc's fatbinary writes into .nv_fatbin: a container with one
// entry per architecture.
struct Container {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_size;
  std::uint64_t size;  // size of the entries
};
struct Entry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_size;
  std::uint64_t size;  // size of the code
  std::uint64_t unused[1];
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t arch;
};
constexpr std::uint32_t kMagic = 0xBA55ED50;
constexpr std::uint16_t kPtx = 1;

std::optional<Provenance> provenance_of_note(std::string_view text) {
  json::Json source = json::Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!source.is_object()) return std::nullopt;
  // The name of this member in extensions that torchport 0.1.0 built.
  if (const auto former = source.find("mend"); former != source.end() && !source.contains("remedy"))
    source["remedy"] = *former;
  Provenance provenance;
  if (!json::read(source, provenance, {}).empty()) return std::nullopt;
  return provenance;
}

template <class T>
bool take(std::string_view bytes, std::uint64_t at, T& value) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return true;
}

void read_entries(std::string_view bytes, std::vector<std::string>& archs) {
  Entry entry{};
  while (take(bytes, 0, entry) && entry.header_size >= sizeof(Entry) && entry.arch < 10000) {
    std::string arch = fmt::format("{}_{}", entry.kind == kPtx ? "compute" : "sm", entry.arch);
    if (std::find(archs.begin(), archs.end(), arch) == archs.end())
      archs.push_back(std::move(arch));
    if (entry.size > bytes.size() || entry.header_size > bytes.size() - entry.size) return;
    bytes.remove_prefix(entry.header_size + entry.size);
  }
}

// Containers follow each other, aligned to eight bytes.
std::vector<std::string> archs_of(std::string_view bytes) {
  std::vector<std::string> archs;
  for (std::uint64_t at = 0; at < bytes.size();) {
    Container container{};
    if (!take(bytes, at, container)) break;
    if (container.magic != kMagic || container.header_size < sizeof(Container)) {
      at += 8;
      continue;
    }
    at += container.header_size;
    if (at > bytes.size()) break;
    const std::uint64_t size = std::min<std::uint64_t>(container.size, bytes.size() - at);
    read_entries(bytes.substr(at, size), archs);
    at += (size + 7) & ~std::uint64_t{7};
  }
  return archs;
}

}  // namespace

Provenance provenance_of(const BuildInputs& inputs, const BuildPlan& plan, std::string torchport,
                         std::string extension, std::string built_by) {
  return {std::move(torchport),
          std::move(extension),
          std::move(built_by),
          inputs.torch.version,
          inputs.torch.cuda,
          inputs.torch.cxx11_abi,
          std::string(to_text(plan.outcome)),
          plan.code,
          plan.reason,
          plan.remedy,
          plan.compiler.path.empty() ? to_text(plan.archs)
                                     : fmt::format("{}", fmt::join(plan.device_archs, ";")),
          plan.compiler.path.empty() ? plan.toolkit.nvcc : plan.compiler.version};
}

std::string to_json(const Provenance& provenance) {
  Provenance copy = provenance;
  return json::text_of(json::written(copy), -1);
}

base::Result<ExtensionFile> read_extension(std::string_view bytes) {
  const auto elf = base::ElfFile::parse(bytes);
  if (!elf) return tl::unexpected(elf.error());
  ExtensionFile file;
  for (const std::string_view name : elf->needed()) file.needed.emplace_back(name);
  const std::string_view fatbin = elf->section(".nv_fatbin");
  file.kernels = !fatbin.empty();
  file.archs = archs_of(fatbin);
  for (const base::ElfNote& note : elf->notes()) {
    if (note.name != kNoteName || note.type != kNoteType) continue;
    auto provenance = provenance_of_note(note.description);
    if (!provenance)
      return base::fail(base::ErrorCode::kSyntax,
                        "has a torchport note that is damaged: build it again");
    file.provenance.push_back(std::move(*provenance));
  }
  return file;
}

std::string contradiction(const ExtensionFile& file) {
  for (const Provenance& one : file.provenance)
    if (one.outcome == "cuda" && !file.kernels)
      return fmt::format("{} was built with CUDA but has no kernels: build it again",
                         one.extension);
  return {};
}

}  // namespace torchport::build_gate
