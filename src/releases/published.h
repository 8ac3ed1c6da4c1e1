// Where builds of torch are published: the names of builds and of their indexes, and the options
// that make pip take one. All code that prints or writes an install line uses it. Thread safe.
#pragma once

#include <string>
#include <string_view>

namespace torchport::releases {

// The name of a build: "cu130" for CUDA 13.0. ROCm's is "rocm7.2", Intel's "xpu", the CPU's "cpu".
[[nodiscard]] std::string variant_of_cuda(std::string_view cuda);
// "13.0" of "cu130"; empty for the name of a build that is not for CUDA.
[[nodiscard]] std::string cuda_of_variant(std::string_view variant);

// "https://download.pytorch.org/whl/cu130".
[[nodiscard]] std::string index_of(std::string_view variant);

// The options that take a build of torch from its index, as pip wants them for this version: from
// 2.0 on the index alone; before that the build's local version, too, since the index was one of
// several; before 1.11 one page of links.
[[nodiscard]] std::string pip_arguments(std::string_view torch, std::string_view variant);

}  // namespace torchport::releases
