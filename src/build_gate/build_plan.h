// Decides whether an extension's CUDA code is built. CMake, setuptools and people all ask for this
// one decision.
//
// It depends on the target torch, the compiler and settings. Whether this machine has a GPU is not
// an input, so the answer cannot depend on it: an extension is built for the machines on which it
// will be installed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/facts/facts.h"
#include "releases/gpu_arch.h"

namespace torchport::host {
struct Machine;
}

namespace torchport::build_gate {

struct BuildToolkit {
  std::string path;      // "/usr/local/cuda-13.0"
  std::string from;      // "CUDA_HOME", "CUDA_PATH", "PATH", "/usr/local", "nvidia packages"
  std::string nvcc;      // nvcc's version; empty if nvcc does not run
  bool headers = false;  // include/cuda_runtime.h exists
  std::vector<std::string> archs;  // as nvcc lists them: "sm_75"
  // The newest major versions of host compilers that it accepts; 0 if it does not say.
  std::uint64_t newest_gcc = 0;
  std::uint64_t newest_clang = 0;
  // Those of cuda_headers() and usual_cuda_headers() that it does not have.
  std::vector<std::string> lacks{};
  // Folders that the compiler and the linker must be told, because they are not those where
  // torch.utils.cpp_extension looks: targets/x86_64-linux/include, lib. Empty if none is needed.
  std::string include{};
  std::string libraries{};
  // The file that `-lcudart` does not find, because its name has a version ("libcudart.so.13");
  // else empty.
  std::string versioned_runtime{};
  bool operator==(const BuildToolkit&) const = default;
};

// The host compiler that nvcc calls.
struct HostCompiler {
  std::string path;
  std::string family;   // "gcc", "clang"; empty if unknown
  std::string version;  // "12.2.0"
  bool operator==(const HostCompiler&) const = default;
};

// A compiler for AMD's or Intel's GPUs.
struct DeviceCompiler {
  std::string kind;                  // "rocm": hipcc; "xpu": icpx
  std::string path;                  // the folder with its bin: "/opt/rocm"
  std::string from;                  // "ROCM_HOME", "PATH", "/opt/rocm"
  std::string version;               // "7.1.25424", "2025.3.2"; empty if it does not run
  std::vector<std::string> lacks{};  // of device_headers(kind)
  bool operator==(const DeviceCompiler&) const = default;
};

struct BuildInputs {
  host::Torch torch;  // the torch to build against; without a root if there is none
  std::vector<BuildToolkit> toolkits;  // in the order in which torch looks for them
  HostCompiler compiler;
  // CUDA's headers from torch's environment (nvidia-* packages), for toolkits that have only a part
  // of them.
  std::vector<std::string> headers;
  // For each known header that these folders have, the folder: {"cusparse.h": ".../cu13/include"}.
  std::map<std::string, std::string> packaged_headers;
  std::vector<DeviceCompiler> compilers;  // for AMD's and Intel's GPUs, as torch looks for them
  std::map<std::string, std::string> environment;  // those of build_variables() that are set
  bool operator==(const BuildInputs&) const = default;
};

// The headers that torch's own headers include in nearly every CUDA extension, by way of
// ATen/cuda/CUDAContext.h and c10/util: without one of them nothing compiles.
[[nodiscard]] const std::vector<std::string>& cuda_headers();
// Further ones that extensions include themselves.
[[nodiscard]] const std::vector<std::string>& usual_cuda_headers();

// The same for "rocm" and "xpu": what torch's headers include in an extension for such a GPU.
[[nodiscard]] const std::vector<std::string>& device_headers(std::string_view kind);

// The environment variables that a plan depends on.
[[nodiscard]] const std::vector<std::string>& build_variables();

enum class BuildOutcome : std::uint8_t { kCuda, kRocm, kXpu, kCpu, kRefuse };
// "cuda", "rocm", "xpu", "cpu", "refuse"
[[nodiscard]] std::string_view to_text(BuildOutcome outcome);

struct BuildPlan {
  BuildOutcome outcome = BuildOutcome::kRefuse;
  std::string code;    // "nvcc-matches", "torch-for-cpu", ...
  std::string reason;  // one sentence, with what was seen
  std::string remedy;  // what to do for another outcome; empty if code for GPUs is built
  std::vector<std::string> notes;
  // Only if CUDA is built:
  BuildToolkit toolkit;
  std::vector<releases::GpuArch> archs;
  // Only for ROCm and XPU: the compiler, and the architectures as its torch names them ("gfx90a").
  DeviceCompiler compiler;
  std::vector<std::string> device_archs;
  // Variables that lead builds which do not know this plan to the same result.
  std::map<std::string, std::string> environment;
};

// Decides. The same inputs give the same plan. Thread safe.
[[nodiscard]] BuildPlan decide(const BuildInputs& inputs);

// Selects the torch to build against. If both are empty, it is that of the active environment.
struct TorchChoice {
  std::string python;  // an interpreter, or the folder of an environment
  std::string torch;   // torch's own folder, or the one that holds it
};
// Finds the inputs on a machine. Fails with kUsage if the choice leads to no torch.
[[nodiscard]] base::Result<BuildInputs> build_inputs(const host::Machine& machine,
                                                     const TorchChoice& choice);

// Writes {"outcome", "code", "reason", ..., "inputs"} for `build-plan --json`. The second function
// reads its inputs again for `--from`.
[[nodiscard]] std::string to_json(const BuildInputs& inputs, const BuildPlan& plan);
[[nodiscard]] base::Result<BuildInputs> build_inputs_from_json(std::string_view text);

}  // namespace torchport::build_gate
