// Finds the libraries of torchport for a torch: those of the package, which the table of releases
// names, and those that `torchport runtime build` has compiled on this machine. Python
// (python/torchport/_runtimes.py) and CMake (src/package/torchportConfig.cmake) choose by the same
// rules. Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace torchport::runtime_build {

// A torch as its files describe it. It is not imported.
struct TorchFiles {
  std::string root;
  std::string version;     // "2.16.0a0+git1a2b3c4"
  std::string git;         // the revision of its source; empty if it does not say
  std::uint64_t size = 0;  // of libtorch_cpu.so: another build of one revision has another size
  bool cxx11_abi = true;
};

// Fails with kUsage if `root` has no torch, or an incomplete one.
[[nodiscard]] base::Result<TorchFiles> read_torch_files(const base::FileSystem& files,
                                                        const std::string& root);

struct Places {
  std::string libraries;  // of the package: .../torchport/lib
  std::string source;     // what `runtime build` compiles: .../torchport/lib/source
  std::string cache;      // .../torchport/runtimes; empty if this user has no folder for caches
};

// `package` is the Python package; `variable` reads an environment variable, empty if not set.
[[nodiscard]] Places places_of(const std::string& package,
                               const std::function<std::string(const char*)>& variable);

// The name of these sources, "0.1.0-1a2b3c4d5e6f"; empty if the package does not have them.
[[nodiscard]] std::string source_key(const base::FileSystem& files, const Places& places);

// Where `runtime build` puts the libraries for this torch; empty if there is no cache or no source.
[[nodiscard]] std::string built_folder(const base::FileSystem& files, const Places& places,
                                       const TorchFiles& torch);

// The libraries in one folder.
struct Runtime {
  std::string folder;
  std::string torch;  // what they were compiled for: "2.13.0"
  std::string git;
  std::vector<std::string> serves;  // the versions that they run with, oldest first
  bool built_here = false;          // by `torchport runtime build`
};

// All that are there, those of the package first. What was built from other sources is left out.
[[nodiscard]] std::vector<Runtime> all_runtimes(const base::FileSystem& files,
                                                const Places& places);

// The folder of the libraries for this torch. Fails with kUsage: the message is one sentence that
// says why there is none and what to do.
[[nodiscard]] base::Result<std::string> choose(const base::FileSystem& files, const Places& places,
                                               const TorchFiles& torch);

// Whether the package itself has libraries for this torch.
[[nodiscard]] bool package_serves(const TorchFiles& torch);

}  // namespace torchport::runtime_build
