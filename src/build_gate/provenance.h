// Stores in an extension how it was built: in an ELF note, which strip keeps and `readelf -n`
// shows. The extension stub that every build with torchport's gate compiles writes it
// (extension_stub.h), and `torchport build-plan --of FILE` reads it.
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

// What an extension's file shows, whoever built it.
struct ExtensionFile {
  std::vector<Provenance> provenance;  // none, or one per extension that is linked into it
  bool kernels = false;                // it contains device code
  std::vector<std::string> archs;      // of the device code: "sm_80", "compute_90"
  std::vector<std::string> needed;     // libraries
};
// Reads an extension. Fails with kSyntax for a file that is not ELF, is cut off, or has a note of
// another form.
[[nodiscard]] base::Result<ExtensionFile> read_extension(std::string_view bytes);

// How a file contradicts its own note: its kernels are missing. Empty if it does not.
[[nodiscard]] std::string contradiction(const ExtensionFile& file);

}  // namespace torchport::build_gate
