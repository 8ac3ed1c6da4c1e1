// What is published of torch: releases, builds for CUDA, ROCm and XPU, and the drivers that they
// need.
//
// doctor, build-plan, container, ci and the virtual devices all answer from this, and each used to
// have a list of its own. The facts stand in python/torchport/torch_releases.json, with the source
// of each release: one object there is a new release, and no code is edited. It is JSON and lies in
// the Python package, because Python reads the same file; the program has its text compiled in, so
// that it also answers where there is no package beside it. A table in C++ with a generated copy
// for Python was rejected: who adds a release should not have to build anything. So was a table
// that is fetched: the program works offline, and says the same today and tomorrow.
//
// An unknown fact is empty or nullopt. Callers have to say that it is unknown, and must not guess.
// All functions are thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace torchport::releases {

// A build for CUDA, for Linux on x86_64.
struct CudaBuild {
  std::string cuda;         // "12.6"
  std::string cudnn;        // "9.10.2.21"; empty where it is unknown
  std::string nccl;         // "2.29.3"; empty where it is unknown
  std::vector<int> archs;   // it has kernels for: 75 for compute capability 7.5; ascending
  bool by_default = false;  // what `pip install torch` brings from PyPI
};

// The build for AMD's GPUs: one for each release.
struct RocmBuild {
  std::string version;             // "7.2"
  std::vector<std::string> archs;  // "gfx90a"; empty where they are unknown
};

struct TorchRelease {
  std::string version;                       // the newest patch release: "2.13.0"
  std::vector<std::string> pythons;          // with wheels, oldest first: "3.10"
  std::vector<CudaBuild> cuda;               // the default first
  std::optional<RocmBuild> rocm;             // none where it is unknown
  std::optional<bool> xpu;                   // whether there is a build for Intel's GPUs
  std::vector<std::string> virtual_devices;  // versions that virtual devices are tested for
  std::vector<std::string> changes;          // what users have to know, a sentence each
  std::vector<std::string> sources;          // where all of it is read
};

struct CudaRelease {
  std::string version;  // "13.0"
  std::string driver;   // the first that runs it, on Linux: "580.65.06"
  std::string image;    // tag of nvidia/cuda whose toolkit compiles for it; empty for none
};

struct Table {
  std::vector<CudaRelease> cuda;       // newest first
  std::vector<TorchRelease> releases;  // newest first; never empty
};

// kSyntax, with the path of the member, for text that is not such a table: JSON of another form,
// releases out of order, a default that is not among the builds, a release without a source.
[[nodiscard]] base::Result<Table> parse_table(std::string_view text);

// The table that the program was built with. Throws std::bad_expected_access where it cannot be
// read, which a unit test excludes.
[[nodiscard]] const Table& table();

// The release that this version is of ("2.13.0+cpu", "2.13"); null where the table has none.
[[nodiscard]] const TorchRelease* release_of(std::string_view torch);
// Its builds for CUDA; empty where the table has none.
[[nodiscard]] const std::vector<CudaBuild>& builds_of(std::string_view torch);
// The versions that the virtual devices are tested for, oldest first.
[[nodiscard]] std::vector<std::string> virtual_device_versions();
// The newest version of the table.
[[nodiscard]] const std::string& newest_torch();

}  // namespace torchport::releases
