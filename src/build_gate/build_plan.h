// Whether to build an extension's CUDA code: the one decision that CMake, setuptools and people
// ask for.
//
// The decision depends on the target torch, the compiler and settings. Whether this machine has a
// GPU is not an input, so the answer cannot depend on it: an extension is built for the machines
// that it is installed on.
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
  std::string nvcc;      // version; empty where it does not run
  bool headers = false;  // include/cuda_runtime.h is there
  std::vector<std::string> archs;  // as nvcc lists them: "sm_75"
  // The newest major versions of host compilers that it takes; 0 where it does not say.
  std::uint64_t newest_gcc = 0;
  std::uint64_t newest_clang = 0;
  bool operator==(const BuildToolkit&) const = default;
};

// The host compiler that nvcc calls.
struct HostCompiler {
  std::string path;
  std::string family;   // "gcc", "clang"; empty where that cannot be told
  std::string version;  // "12.2.0"
  bool operator==(const HostCompiler&) const = default;
};

struct BuildInputs {
  host::Torch torch;                   // what is built against; no root where there is none
  std::vector<BuildToolkit> toolkits;  // in the order in which torch looks for them
  HostCompiler compiler;
  // CUDA's headers that the torch's environment brings (nvidia-* packages), where toolkits have
  // only a part of them.
  std::vector<std::string> headers;
  std::map<std::string, std::string> environment;  // of kBuildVariables, those that are set
  bool operator==(const BuildInputs&) const = default;
};

// The variables that a plan looks at.
[[nodiscard]] const std::vector<std::string>& build_variables();

enum class BuildOutcome : std::uint8_t { kCuda, kCpu, kRefuse };
[[nodiscard]] std::string_view to_text(BuildOutcome outcome);  // "cuda", "cpu", "refuse"

struct BuildPlan {
  BuildOutcome outcome = BuildOutcome::kRefuse;
  std::string code;    // "nvcc-matches", "torch-for-cpu", ...
  std::string reason;  // one sentence, with what was seen
  std::string remedy;  // what to do for another outcome; empty where CUDA is built
  std::vector<std::string> notes;
  // Of CUDA alone:
  BuildToolkit toolkit;
  std::vector<releases::GpuArch> archs;
  // What makes builds that know nothing of this plan come to the same end.
  std::map<std::string, std::string> environment;
};

// Thread safe; the same inputs give the same plan.
[[nodiscard]] BuildPlan decide(const BuildInputs& inputs);

// Which torch is built against: that of the environment in use where both are empty.
struct TorchChoice {
  std::string python;  // an interpreter, or the folder of an environment
  std::string torch;   // torch's own folder, or the one that holds it
};
// Looks at the machine. kUsage where the choice leads to no torch.
[[nodiscard]] base::Result<BuildInputs> build_inputs(const host::Machine& machine,
                                                     const TorchChoice& choice);

// {"outcome", "code", "reason", ..., "inputs"}: `build-plan --json` writes it, `--from` reads its
// inputs.
[[nodiscard]] std::string to_json(const BuildInputs& inputs, const BuildPlan& plan);
[[nodiscard]] base::Result<BuildInputs> build_inputs_from_json(std::string_view text);

}  // namespace torchport::build_gate
