// Knows where builds of torch are published: the names of builds and of their indexes, and the
// options that make pip choose one. All code that prints or writes an install command uses it.
// Thread safe.
#pragma once

#include <string>
#include <string_view>

namespace torchport::releases {

// The variant of a CUDA: "cu130" for CUDA 13.0. ROCm's is "rocm7.2", Intel's "xpu", the CPU's
// "cpu".
[[nodiscard]] std::string variant_of_cuda(std::string_view cuda);
// The CUDA of a variant: "13.0" for "cu130"; empty for a variant that is not for CUDA.
[[nodiscard]] std::string cuda_of_variant(std::string_view variant);

// The ROCm of a variant: "7.2" for "rocm7.2"; empty for a variant that is not for ROCm.
[[nodiscard]] std::string rocm_of_variant(std::string_view variant);

// The index of a variant: "https://download.pytorch.org/whl/cu130".
[[nodiscard]] std::string index_of(std::string_view variant);

// The options with which pip takes a build of torch from its index, for this version. Since 2.0
// they are the index alone. Before that, the index was one of several, so the build's local version
// is needed, too. Before 1.11 they are one page of links.
[[nodiscard]] std::string pip_arguments(std::string_view torch, std::string_view variant);

// The same where another build of this version may be installed. A requirement without the local
// version is satisfied by each build, 2.13.0 by 2.13.0+cpu, and pip and uv then change nothing.
[[nodiscard]] std::string pip_arguments_to_replace(std::string_view torch,
                                                   std::string_view variant);
// "torch==2.13.0+cu130", which only that build satisfies.
[[nodiscard]] std::string requirement_of_build(std::string_view torch, std::string_view variant);

}  // namespace torchport::releases
