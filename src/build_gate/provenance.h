// How an extension was built, kept in the extension itself: an ELF note, which strip leaves in
// place and `readelf -n` shows. Written by the source of the extension stub that every build with
// torchport's gate compiles (extension_stub.h), read by `torchport build-plan --of FILE`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "build_gate/build_plan.h"

namespace torchport::build_gate {

inline constexpr std::string_view kNoteName = "torchport";
inline constexpr std::string_view kNoteSection = ".note.torchport";
inline constexpr std::uint32_t kNoteType = 1;  // a JSON object in UTF-8

struct Provenance {
  std::string torchport;  // its version
  std::string extension;  // "pkg._C"
  std::string built_by;   // "setuptools", "CMake"
  std::string torch;      // version
  std::string torch_cuda;
  bool cxx11_abi = true;
  std::string outcome;  // "cuda", "cpu"
  std::string code;
  std::string reason;
  std::string remedy;
  std::string archs;
  std::string nvcc;
  bool operator==(const Provenance&) const = default;
};

[[nodiscard]] Provenance provenance_of(const BuildInputs& inputs, const BuildPlan& plan,
                                       std::string torchport, std::string extension,
                                       std::string built_by);
[[nodiscard]] std::string to_json(const Provenance& provenance);

// What a built extension shows, whatever built it.
struct ExtensionFile {
  std::vector<Provenance> provenance;  // none, or one for each extension linked into it
  bool kernels = false;                // there is device code in it
  std::vector<std::string> archs;      // of the device code: "sm_80", "compute_90"
  std::vector<std::string> needed;     // libraries
};
// kSyntax for what is not an ELF file, is cut off, or whose note is none of ours.
[[nodiscard]] base::Result<ExtensionFile> read_extension(std::string_view bytes);

// Where a file belies its own note: kernels promised that are not there. Empty where it does not.
[[nodiscard]] std::string contradiction(const ExtensionFile& file);

}  // namespace torchport::build_gate
