// What fits together: drivers, CUDA, builds of torch. All such facts stand in versions.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torchport::host {

// "580.65.06" -> {580, 65, 6}; stops at what is no number: "2.13.0+cu130" -> {2, 13, 0}.
[[nodiscard]] std::vector<int> parse_version(std::string_view text);
// By their numbers; a missing one is 0.
[[nodiscard]] bool older(std::string_view a, std::string_view b);
[[nodiscard]] bool same_major(std::string_view a, std::string_view b);
[[nodiscard]] bool same_minor(std::string_view a, std::string_view b);  // and the same major one

// Whether what nvcc of one CUDA compiles runs in a process whose CUDA runtime is `cuda`'s: the same
// major version, and before CUDA 11 the same minor one ("CUDA Compatibility", minor version
// compatibility). torch.utils.cpp_extension warns of another minor version and goes on, too.
[[nodiscard]] bool links_with(std::string_view nvcc, std::string_view cuda);

// The newest CUDA that a driver of this version runs: "13.0"; empty for a driver before CUDA 11.
[[nodiscard]] std::string cuda_of_driver(std::string_view driver);
// The oldest driver that runs programs made with this CUDA (any minor version of its major one);
// empty where that is not known.
[[nodiscard]] std::string least_driver(std::string_view cuda);

// A build of torch for CUDA, as it is published.
struct TorchBuild {
  std::string_view torch;   // "2.13"
  std::string_view cuda;    // "12.6"
  std::vector<int> archs;   // on x86_64: 75 for compute capability 7.5
  bool by_default = false;  // what `pip install torch` takes on Linux
};
// Of this version of torch ("2.13.0+cpu"); empty where it is not known.
[[nodiscard]] std::vector<TorchBuild> builds_of(std::string_view torch);
// "2.13.0" of "2.13.0+cu130".
[[nodiscard]] std::string without_build(std::string_view torch);
// The newest version that `builds_of` knows.
[[nodiscard]] std::string newest_torch();

// Whether kernels for `archs` ("sm_80", "compute_90") run on a device of this compute capability
// ("8.6"): code of the same major and at most the same minor version, or PTX of at most it.
[[nodiscard]] bool runs_on(const std::vector<std::string>& archs, std::string_view capability);

}  // namespace torchport::host
