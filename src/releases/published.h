// Where builds of torch are published: the names of the indexes, which Pythons and which devices a
// build is for. Whatever prints or writes an install line asks here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchport::host {

// Of a build: "cu130" for CUDA 13.0. ROCm's is "rocm7.2", Intel's "xpu", the CPU's "cpu".
[[nodiscard]] std::string variant_of_cuda(std::string_view cuda);
// "13.0" of "cu130"; empty for what is no build for CUDA.
[[nodiscard]] std::string cuda_of_variant(std::string_view variant);

// "https://download.pytorch.org/whl/cu130".
[[nodiscard]] std::string index_of(std::string_view variant);

// The build for AMD's GPUs that this version of torch ("2.13.0") is published as.
struct RocmBuild {
  std::string_view rocm;                // "7.2"; empty where it is not known
  std::vector<std::string_view> archs;  // "gfx90a"
};
[[nodiscard]] RocmBuild rocm_build_of(std::string_view torch);

// The CPython releases that this version of torch has wheels for, oldest first: "3.10". Empty where
// that is not known.
[[nodiscard]] std::vector<std::string> pythons_of(std::string_view torch);

// The options that take a build of torch from its index, as pip wants them for this version: from
// 2.0 on the index alone, before that the build's local version, too, since the index was one of
// several; before 1.11 one page of links.
[[nodiscard]] std::string pip_arguments(std::string_view torch, std::string_view variant);

}  // namespace torchport::host
