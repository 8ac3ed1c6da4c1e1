// CUDA's versions: which driver runs which, what links with what, which kernels run on which GPU.
// Drivers and their CUDA stand in the table (table.h). Thread safe; all functions take any text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchport::releases {

// Whether what nvcc of one CUDA compiles runs in a process whose CUDA runtime is `cuda`'s: the same
// major version, and before CUDA 11 the same minor one ("CUDA Compatibility", minor version
// compatibility). torch.utils.cpp_extension also warns of another minor version and goes on.
[[nodiscard]] bool links_with(std::string_view nvcc, std::string_view cuda);

// The newest CUDA that a driver of this version runs: "13.0"; empty for a driver before CUDA 11.
[[nodiscard]] std::string cuda_of_driver(std::string_view driver);
// The oldest driver that runs programs made with this CUDA: that of the first minor version of its
// major one ("CUDA Compatibility", minor version compatibility). Empty where it is unknown.
[[nodiscard]] std::string least_driver(std::string_view cuda);
// The image with the toolkit of this CUDA ("nvidia/cuda:..."); empty where none is known.
[[nodiscard]] std::string toolkit_image(std::string_view cuda);

// Whether kernels for `archs` ("sm_80", "compute_90") run on a device of this compute capability
// ("8.6"): code of the same major and at most the same minor version, or PTX of at most it.
[[nodiscard]] bool runs_on(const std::vector<std::string>& archs, std::string_view capability);

}  // namespace torchport::releases
