// Answers questions about CUDA's versions: which driver runs which CUDA, what links with what,
// which kernels run on which GPU. The table (table.h) has the drivers and their CUDA. All functions
// take any text and are thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchport::releases {

// Whether code that one CUDA's nvcc compiled runs in a process with the CUDA runtime `cuda`: their
// major versions are equal and, before CUDA 11, their minor ones, too ("CUDA Compatibility", minor
// version compatibility). torch.utils.cpp_extension also warns about another minor version, and
// continues.
[[nodiscard]] bool links_with(std::string_view nvcc, std::string_view cuda);

// The newest CUDA that a driver of this version supports: "13.0"; empty for a driver before CUDA
// 11.
[[nodiscard]] std::string cuda_of_driver(std::string_view driver);
// The oldest driver that runs programs of this CUDA, which is that of the first minor version of
// its major version ("CUDA Compatibility", minor version compatibility). Empty if unknown.
[[nodiscard]] std::string least_driver(std::string_view cuda);
// The image with the toolkit of this CUDA ("nvidia/cuda:..."); empty if none is known.
[[nodiscard]] std::string toolkit_image(std::string_view cuda);

// Whether kernels for `archs` ("sm_80", "compute_90") run on a device of this compute capability
// ("8.6"). Machine code runs on the same major and at least its minor version, PTX on its version
// and all later ones.
[[nodiscard]] bool runs_on(const std::vector<std::string>& archs, std::string_view capability);

}  // namespace torchport::releases
