// nvcc's command line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace torchport::cuda {

enum class Phase : std::uint8_t { kLink, kCompile, kPreprocess, kDependencies, kLibrary, kNothing };

struct NvccOptions {
  Phase phase = Phase::kLink;
  std::vector<std::string> inputs;  // in their order, with libraries as -lNAME
  std::string output;               // -o
  std::string output_folder;        // -odir
  std::string language;             // -x: empty, "cu", "c++", "c"
  std::string standard = "c++17";   // -std
  bool standard_given = false;
  std::vector<std::string> preprocess;    // -D, -U, -I, -isystem, -include, in their order
  std::vector<std::string> dependencies;  // -MD, -MF FILE, ...
  std::vector<std::string> host;          // for the host's compiler: -Xcompiler, -g, -O
  std::vector<std::string> link;          // -L, -Xlinker
  std::string host_compiler = "g++";      // -ccbin
  std::string optimize;                   // 0, 1, 2, 3; empty: nvcc's own
  int architecture = 75;                  // the newest of -arch and -gencode: 90 for sm_90a
  bool shared = false;
  bool relocatable = false;  // -rdc=true, -dc
  bool extended_lambda = false;
  bool relaxed_constexpr = false;
  bool fast_math = false;
  bool flush_denormals = false;  // -ftz
  bool contract = true;          // -fmad
  bool debug = false;            // -G
  bool no_warnings = false;
  bool verbose = false;  // -v, --dryrun
  bool dry_run = false;
  bool keep = false;
  bool check = false;  // --check-kernels, which nvcc does not have
  bool help = false;
  bool version = false;
};

// Reads the words behind `nvcc`, with response files (-optf FILE, @FILE) and the environment's
// NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS already among them. Fails with kUsage: a flag that nvcc
// does not have, or what virtual devices have not (PTX, device code of its own), by its name.
[[nodiscard]] base::Result<NvccOptions> parse_nvcc(const std::vector<std::string>& words);

// The words with response files in their place, which may name others. Fails with kIo or kUsage.
[[nodiscard]] base::Result<std::vector<std::string>> with_response_files(
    const std::vector<std::string>& words);

}  // namespace torchport::cuda
