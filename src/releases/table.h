// Holds what is published of torch: releases, builds for CUDA, ROCm and XPU, the drivers and the
// macOS that they need, the GPU architectures of each CUDA, and images with compilers.
//
// doctor, build-plan, container, ci and the virtual devices all answer from this table; each once
// had a list of its own. The facts are in python/torchport/torch_releases.json, with the sources of
// each release: a new release is one object there, and no code is edited. It is JSON in the Python
// package, because Python reads the same file. The program has its text compiled in, so that it
// also answers without the package beside it. A table in C++ with a generated copy for Python was
// rejected, because adding a release should not need a build. A table that is downloaded was
// rejected, because the program works offline and has to give the same answer on every day.
//
// An unknown fact is empty or nullopt. Callers have to say that it is unknown, and must not guess.
// All functions are thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace torchport::releases {

// A build for CUDA, on Linux.
struct CudaBuild {
  std::string cuda;         // "12.6"
  std::string cudnn;        // "9.10.2.21"; empty if unknown
  std::string nccl;         // "2.29.3"; empty if unknown
  std::vector<int> archs;   // that it has kernels for: 75 for compute capability 7.5; ascending
  bool by_default = false;  // `pip install torch` installs it from PyPI
};

// The build for AMD's GPUs; each release has one.
struct RocmBuild {
  std::string version;             // "7.2"
  std::vector<std::string> archs;  // "gfx90a"; empty if unknown
};

// torchport's own libraries for a release.
struct Runtime {
  std::string built_for;  // the version whose headers they were compiled with: "2.12.1"
  // Each version that they run with, oldest first, and the git_version in its torch/version.py.
  std::vector<std::pair<std::string, std::string>> serves;
};

struct TorchRelease {
  std::string version;               // the newest patch release: "2.13.0"
  std::vector<std::string> pythons;  // with wheels, oldest first: "3.10"
  std::vector<CudaBuild> cuda;       // for x86_64; the default first
  // For servers with Arm's processors; none by default where PyPI has a build for the CPU. Nothing
  // if they are unknown.
  std::optional<std::vector<CudaBuild>> cuda_aarch64;
  std::optional<RocmBuild> rocm;     // none if unknown
  std::optional<bool> xpu;           // whether there is a build for Intel's GPUs
  std::string macos;                 // the first with MPS: "14"; empty if unknown
  std::optional<Runtime> runtime;    // none if torchport has none
  std::vector<std::string> changes;  // what users have to know, one sentence each
  std::vector<std::string> sources;  // where these facts come from
};

struct CudaRelease {
  std::string version;  // "13.0"
  std::string driver;   // the first driver that supports it on Linux: "580.65.06"
  std::string image;    // tag of the nvidia/cuda image with its toolkit; empty for none
};

// A ROCm release whose compiler is in a known image.
struct RocmRelease {
  std::string version;  // "7.2"
  std::string image;    // with HIP's compiler: "rocm/dev-ubuntu-24.04:7.2-complete"
  std::string base;     // the same distribution without the compiler: "ubuntu:24.04"
  std::string python;   // the distribution's: "3.12"
};

// Which CUDA releases compile for an architecture of NVIDIA's GPUs.
struct GpuLifetime {
  int arch = 0;       // 75 for compute capability 7.5
  std::string first;  // "10.0"
  std::string last;   // "12.9"; empty while every later CUDA compiles for it
  // The last release of torch with code for it, if that is older than the releases of this table.
  std::string last_torch;
  int last_driver =
      0;  // the major version of NVIDIA's last driver for it; 0: newer ones support it
};

// A name in TORCH_CUDA_ARCH_LIST that stands for architectures.
struct GpuName {
  std::string name;        // "Ampere"
  std::vector<int> archs;  // ascending
  bool ptx = false;        // also asks for the PTX of the last one
};

struct Table {
  std::vector<CudaRelease> cuda;       // newest first
  std::vector<RocmRelease> rocm;       // newest first
  std::vector<GpuLifetime> gpu_archs;  // newest first
  std::vector<GpuName> gpu_names;
  std::vector<TorchRelease> releases;  // newest first; never empty
};

// Reads a table. Fails with kSyntax, which names the member's path, for JSON of another form,
// releases or architectures out of order, a default that is not among the builds, and a release
// without a source.
[[nodiscard]] base::Result<Table> parse_table(std::string_view text);

// The table that the program was built with. Throws std::bad_expected_access if it cannot be read;
// a unit test rules that out.
[[nodiscard]] const Table& table();

// The release of this version ("2.13.0+cpu", "2.13"); null if the table does not have it.
[[nodiscard]] const TorchRelease* release_of(std::string_view torch);
// The builds for CUDA on x86_64 of its release; empty if the table does not have it.
[[nodiscard]] const std::vector<CudaBuild>& builds_of(std::string_view torch);
// The ROCm release of this version ("7.2"); null if the table has no image with its compiler.
[[nodiscard]] const RocmRelease* rocm_release(std::string_view version);
// The versions that torchport has libraries for, oldest first.
[[nodiscard]] std::vector<std::string> runtime_versions();
// The libraries that serve exactly this version ("2.12.0+cu130"); null if there are none.
[[nodiscard]] const Runtime* runtime_of(std::string_view torch);
// The newest version of the table.
[[nodiscard]] const std::string& newest_torch();

}  // namespace torchport::releases
