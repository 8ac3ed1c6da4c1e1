// Tests what extensions say about their build: notes, device code, and damaged files.
#include "build_gate/provenance.h"

#include <cstring>

#include <doctest/doctest.h>
#include <elf.h>

#include "base/elf.h"
#include "build_gate/extension_stub.h"

namespace torchport::build_gate {

namespace {

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

struct Part {
  std::string name;
  std::uint32_t type;
  std::string content;
  std::uint32_t link = 0;
};

// An ELF file with these sections, followed by its section headers.
std::string elf_of(std::vector<Part> parts) {
  std::string names(1, '\0');
  parts.push_back({".shstrtab", SHT_STRTAB, ""});
  std::vector<std::uint32_t> places;
  for (const Part& part : parts) {
    places.push_back(static_cast<std::uint32_t>(names.size()));
    names += part.name + '\0';
  }
  parts.back().content = names;
  std::string body(sizeof(Elf64_Ehdr), '\0');
  std::string headers(sizeof(Elf64_Shdr), '\0');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Elf64_Shdr header{};
    header.sh_name = places[i];
    header.sh_type = parts[i].type;
    header.sh_offset = body.size();
    header.sh_size = parts[i].content.size();
    header.sh_link = parts[i].link;
    append(headers, header);
    body += parts[i].content;
    body.resize((body.size() + 7) / 8 * 8);
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = body.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(parts.size() + 1);
  header.e_shstrndx = static_cast<Elf64_Half>(parts.size());
  std::memcpy(body.data(), &header, sizeof(header));
  return body + headers;
}

std::string note_of(const std::string& text) {
  std::string note;
  append(note, Elf64_Nhdr{10, static_cast<Elf64_Word>(text.size()), kNoteType});
  note += std::string("torchport\0\0\0", 12) + text;
  note.resize((note.size() + 3) / 4 * 4);
  return note;
}

// A container as fatbinary writes it. Each entry has a kind (1: PTX, 2: machine code) and an
// architecture.
std::string fatbin_of(const std::vector<std::pair<int, int>>& entries) {
  std::string inside;
  for (const auto& [kind, arch] : entries) {
    std::string entry(64 + 16, '\0');
    const auto kind16 = static_cast<std::uint16_t>(kind);
    const std::uint32_t header = 64;
    const std::uint64_t size = 16;
    const auto arch32 = static_cast<std::uint32_t>(arch);
    std::memcpy(entry.data(), &kind16, 2);
    std::memcpy(entry.data() + 4, &header, 4);
    std::memcpy(entry.data() + 8, &size, 8);
    std::memcpy(entry.data() + 28, &arch32, 4);
    inside += entry;
  }
  std::string all;
  append(all, std::uint32_t{0xBA55ED50});
  append(all, std::uint16_t{1});
  append(all, std::uint16_t{16});
  append(all, std::uint64_t{inside.size()});
  return all + inside;
}

Provenance some_provenance(const char* outcome) {
  return {"0.1.0",        "pkg._C",       "CMake",
          "2.13.0+cu130", "13.0",         true,
          outcome,        "nvcc-matches", "because \"so\"\n\xc3\xa9 \\",
          "do that",      "8.0",          "13.0"};
}

std::string symbols_of(const std::vector<std::pair<std::string, bool>>& symbols,
                       std::string& strings) {
  std::string table(sizeof(Elf64_Sym), '\0');
  strings.assign(1, '\0');
  for (const auto& [name, defined] : symbols) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(strings.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
    symbol.st_shndx = defined ? 1 : SHN_UNDEF;
    append(table, symbol);
    strings += name + '\0';
  }
  return table;
}

std::string object_of(const std::vector<std::pair<std::string, bool>>& symbols) {
  std::string strings;
  const std::string table = symbols_of(symbols, strings);
  return elf_of({{".symtab", SHT_SYMTAB, table, 2}, {".strtab", SHT_STRTAB, strings}});
}

}  // namespace

TEST_CASE("an extension tells how it was built, and what is in it") {
  const Provenance written = some_provenance("cuda");
  const std::string file = elf_of(
      {{".note.torchport", SHT_NOTE, note_of("") + note_of(to_json(written))},
       {".nv_fatbin", SHT_PROGBITS,
        fatbin_of({{2, 80}, {2, 90}, {1, 90}}) + std::string(24, '\0') + fatbin_of({{2, 120}})}});
  CHECK_FALSE(read_extension(file).has_value());  // one of two notes is empty
  const std::string good = elf_of(
      {{".note.torchport", SHT_NOTE, note_of(to_json(written))},
       {".nv_fatbin", SHT_PROGBITS,
        fatbin_of({{2, 80}, {2, 90}, {1, 90}}) + std::string(24, '\0') + fatbin_of({{2, 120}})}});
  const auto read = read_extension(good);
  REQUIRE(read.has_value());
  REQUIRE(read->provenance.size() == 1);
  CHECK(read->provenance[0] == written);
  CHECK(read->archs == std::vector<std::string>{"sm_80", "sm_90", "compute_90", "sm_120"});
  CHECK(contradiction(*read).empty());
}

TEST_CASE("a note of torchport 0.1.0, which called the remedy by another name, is read") {
  std::string text = to_json(some_provenance("cpu"));
  const std::string now = "\"remedy\":";
  text.replace(text.find(now), now.size(), "\"mend\":");
  const auto read = read_extension(elf_of({{".note.torchport", SHT_NOTE, note_of(text)}}));
  REQUIRE(read.has_value());
  CHECK(read->provenance[0] == some_provenance("cpu"));
}

TEST_CASE("a promise of kernels that are not there is said") {
  const auto hollow = read_extension(
      elf_of({{".note.torchport", SHT_NOTE, note_of(to_json(some_provenance("cuda")))}}));
  REQUIRE(hollow.has_value());
  CHECK(contradiction(*hollow).find("has no kernels") != std::string::npos);
  const auto honest = read_extension(
      elf_of({{".note.torchport", SHT_NOTE, note_of(to_json(some_provenance("cpu")))}}));
  REQUIRE(honest.has_value());
  CHECK(contradiction(*honest).empty());
}

TEST_CASE("no ELF file, one that is cut off, one of another kind") {
  CHECK(read_extension("").error().message == "is not an ELF file");
  CHECK(read_extension("#!/bin/sh\n").error().message == "is not an ELF file");
  CHECK(read_extension("\x7f"
                       "ELF")
            .error()
            .message.starts_with("is cut off"));
  const std::string whole =
      elf_of({{".note.torchport", SHT_NOTE, note_of(to_json(some_provenance("cpu")))},
              {".nv_fatbin", SHT_PROGBITS, fatbin_of({{2, 80}})}});
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(read_extension(std::string_view(whole).substr(0, size)).has_value());
  std::string other = whole;
  other[EI_CLASS] = ELFCLASS32;
  CHECK(read_extension(other).error().message.find("not a 64-bit") != std::string::npos);
  CHECK(read_extension(elf_of({})).value().provenance.empty());
  CHECK(read_extension(elf_of({{".note.torchport", SHT_NOTE, note_of("[1]")}})).error().message ==
        "has a torchport note that is damaged: build it again");
}

TEST_CASE("no byte of a file leads outside of it") {
  const std::string whole =
      elf_of({{".note.torchport", SHT_NOTE, note_of(to_json(some_provenance("cpu")))},
              {".nv_fatbin", SHT_PROGBITS, fatbin_of({{2, 80}, {1, 90}})},
              {".dynamic", SHT_DYNAMIC, std::string(64, '\1'), 1}});
  int read = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = value;
      const auto file = read_extension(damaged);
      read += file.has_value() ? 1 : 0;
      if (!file) CHECK_FALSE(file.error().message.empty());
    }
  CHECK(read > 100);
}

TEST_CASE("which functions of a CUDA part that is not built are called") {
  const std::string ops = object_of({{"_ZN4demo11triple_cudaERKN2at6TensorE", false},
                                     {"_ZN4demo10shift_cudaIfEEN2at6TensorERKS2_T_", false},
                                     {"_ZN4demo5localEv", false},
                                     {"_ZN2at10empty_likeEv", false},
                                     {"_ZNSt6thread4joinEv", false},
                                     {"launch_plain", false},
                                     {"memcpy", false},
                                     {"PyModule_Create2", false},
                                     {"_ZN4demo6tripleEv", true}});
  const std::string other = object_of({{"_ZN4demo5localEv", true}});
  const std::vector<std::string> sources{
      "at::Tensor triple_cuda(const at::Tensor& x) { memcpy(a, b, 1); empty_like(x); local(); }\n"
      "template <class T> at::Tensor shift_cuda(...);\nthread join triple",
      "extern \"C\" void launch_plain() {}"};
  const auto missing = missing_functions({sources, {ops, other}});
  REQUIRE(missing.has_value());
  CHECK(*missing == std::vector<std::string>{"_ZN4demo10shift_cudaIfEEN2at6TensorERKS2_T_",
                                             "_ZN4demo11triple_cudaERKN2at6TensorE",
                                             "launch_plain"});
  CHECK_FALSE(missing_functions({sources, {"no object"}}).has_value());
}

TEST_CASE("which operators' kernels a CUDA part has") {
  const CudaOperators found = cuda_operators(
      {"TORCH_LIBRARY_IMPL(a, CUDA, m) { m.impl(\"scale\", f); m.impl(\"add.out\", g); }",
       "TORCH_LIBRARY_IMPL ( b , CUDA , m )\nTORCH_LIBRARY_IMPL(c, CPU, m)",
       "TORCH_LIBRARY_IMPL(a, AutogradCUDA, m) { m.impl(NAME(\"b::nms\"), h); }",
       "\"not a name\" \"\" \"9\" \"x y\""});
  CHECK(found.namespaces == std::vector<std::string>{"a", "b"});
  CHECK(found.xpu_namespaces.empty());
  const CudaOperators sycl = cuda_operators(
      {"TORCH_LIBRARY_IMPL(a, XPU, m) { m.impl(\"scale\", &f); }\n"
       "TORCH_LIBRARY_IMPL(a, AutogradXPU, m) {}\nTORCH_LIBRARY_IMPL(b, NotXPU, m) {}"});
  CHECK(sycl.namespaces.empty());
  CHECK(sycl.xpu_namespaces == std::vector<std::string>{"a"});
  CHECK(sycl.names == std::vector<std::string>{"scale"});
  CHECK(found.names == std::vector<std::string>{"add.out", "nms", "scale"});
  CHECK(cuda_operators({"", "CUDA \"name\""}).names.empty());
  // As long as a picture in a source.
  const std::string picture(std::size_t{1} << 20U, 'A');
  CHECK(cuda_operators({"TORCH_LIBRARY_IMPL(a, CUDA, m) { decode(\"" + picture + "=\"); }"})
            .names.empty());
  CHECK(cuda_operators({"TORCH_LIBRARY_IMPL(" + picture, "TORCH_LIBRARY_IMPL", "\"a.", "\""})
            .namespaces.empty());
}

TEST_CASE("the extension stub of a build with CUDA is the note alone") {
  const auto text = extension_stub_source(some_provenance("cuda"), {});
  REQUIRE(text.has_value());
  CHECK(text->find("#include") == std::string::npos);
  CHECK(text->find(".note.torchport") != std::string::npos);
  CHECK(text->find("\xc3") == std::string::npos);  // the literal is ASCII
}

TEST_CASE("a SYCL part that is left out has stubs under its own dispatch key") {
  CudaPart part;
  part.sources = {"TORCH_LIBRARY_IMPL(demo, XPU, m) { m.impl(\"scale\", &scale); }"};
  const auto text = extension_stub_source(some_provenance("cpu"), part);
  REQUIRE(text.has_value());
  CHECK(text->find("{\"demo\", DispatchKey::XPU}") != std::string::npos);
  CHECK(text->find("{\"demo\", DispatchKey::CUDA}") == std::string::npos);
  CHECK(text->find("has no XPU kernel") != std::string::npos);
}

}  // namespace torchport::build_gate
