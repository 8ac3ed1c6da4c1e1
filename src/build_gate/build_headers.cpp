// Answers which headers and libraries of CUDA a build finds, and where.
#include <algorithm>

#include <fmt/format.h>

#include "build_gate/build_obstacles.h"

namespace torchport::build_gate {

// As of torch 2.13: ATen/cuda/CUDAContextLight.h includes those of the libraries, and c10/util
// (Half.h, BFloat16.h, complex.h) the others where nvcc compiles.
const std::vector<std::string>& cuda_headers() {
  static const std::vector<std::string> kNames{
      "cuda_runtime_api.h", "cublas_v2.h", "cublasLt.h",  "cusparse.h",
      "cusolverDn.h",       "cuda_fp16.h", "cuda_bf16.h", "thrust/complex.h"};
  return kNames;
}

const std::vector<std::string>& usual_cuda_headers() {
  static const std::vector<std::string> kNames{"cub/cub.cuh", "curand_kernel.h", "cufft.h",
                                               "nvrtc.h"};
  return kNames;
}

std::vector<std::string> missing_headers(const BuildInputs& inputs, const BuildToolkit& toolkit) {
  std::vector<std::string> missing;
  for (const std::string& header : toolkit.lacks) {
    const auto& all = cuda_headers();
    if (std::find(all.begin(), all.end(), header) != all.end() &&
        !inputs.packaged_headers.contains(header))
      missing.push_back(header);
  }
  return missing;
}

namespace {

// These folders before those that the variable already has. They are looked through after the
// options -I and -L, so a toolkit's own headers and libraries stay first.
void prepend(const BuildInputs& inputs, BuildPlan& plan, const char* name,
             const std::vector<std::string>& folders) {
  if (folders.empty()) return;
  std::string value = fmt::format("{}", fmt::join(folders, ":"));
  if (const std::string given = variable(inputs, name); !given.empty()) value += ":" + given;
  plan.environment[name] = std::move(value);
}

void add(std::vector<std::string>& folders, const std::string& folder) {
  if (!folder.empty() && std::find(folders.begin(), folders.end(), folder) == folders.end())
    folders.push_back(folder);
}

}  // namespace

void add_search_paths(const BuildInputs& inputs, BuildPlan& plan) {
  std::vector<std::string> headers;
  std::vector<std::string> absent;
  add(headers, plan.toolkit.include);
  for (const std::string& header : plan.toolkit.lacks) {
    const auto found = inputs.packaged_headers.find(header);
    if (found != inputs.packaged_headers.end())
      add(headers, found->second);
    else
      absent.push_back(header);
  }
  prepend(inputs, plan, "CPATH", headers);
  std::vector<std::string> libraries;
  add(libraries, plan.toolkit.libraries);
  prepend(inputs, plan, "LIBRARY_PATH", libraries);
  if (!absent.empty())
    plan.notes.push_back(fmt::format("{} {} not found: sources that include {} do not compile here",
                                     fmt::join(absent, ", "), absent.size() == 1 ? "was" : "were",
                                     absent.size() == 1 ? "it" : "them"));
  if (!plan.toolkit.versioned_runtime.empty())
    plan.notes.push_back(fmt::format(
        "{} has no libcudart.so: builds that do not ask torchport fail to link -lcudart; "
        "ln -s {} {}",
        place(plan.toolkit), plan.toolkit.versioned_runtime,
        plan.toolkit.versioned_runtime.substr(0, plan.toolkit.versioned_runtime.rfind(".so") + 3)));
}

}  // namespace torchport::build_gate
