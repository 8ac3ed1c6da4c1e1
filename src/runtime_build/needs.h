// Checks what compiling the libraries needs, before anything is written: a compile that fails after
// minutes, because a header is absent, would be the alternative.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "runtime_build/choice.h"

namespace torchport::runtime_build {

struct Tools {
  std::string compiler;   // a path
  std::string cmake;      // a path
  std::string generator;  // CMake's name: "Ninja" or "Unix Makefiles"
};

struct Needs {
  Tools tools;
  std::vector<std::string> missing;  // one sentence each, with what to do
};

// The programs that are found in `path` (the variable PATH) count. `cxx` is the variable CXX: the
// compiler that the user wants; empty for none.
[[nodiscard]] Needs find_needs(const base::FileSystem& files, const Places& places,
                               const TorchFiles& torch, const std::string& path,
                               const std::string& cxx);

// The first program of this name in PATH; empty if there is none.
[[nodiscard]] std::string program_in(const base::FileSystem& files, const std::string& path,
                                     const std::string& name);

// The sentence about headers that the compiler's output says are missing, with the line that
// installs them on Debian; empty if none is.
[[nodiscard]] std::string missing_headers(std::string_view compiler_output);

// Bytes that building takes in the folder of the cache: 357 MiB were seen with GCC 12.
inline constexpr std::uint64_t kDiskNeeded = std::uint64_t{500} << 20U;

}  // namespace torchport::runtime_build
