// Finds compilers that cannot build extensions for torch's CUDA.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "versions/version.h"

namespace torchport::host::torch {

namespace {

std::optional<Diagnosis> toolkit_differs(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || facts.toolkits.empty()) return std::nullopt;
  const Toolkit& toolkit = facts.toolkits.front();
  const std::string& version = toolkit.nvcc.empty() ? toolkit.version : toolkit.nvcc;
  if (version.empty() || versions::same_major(version, torch->cuda)) return std::nullopt;
  return Diagnosis{
      "toolkit-differs",
      fmt::format("the toolkit in {} ({}) is CUDA {}, but torch is built with {}: extensions will "
                  "not build",
                  toolkit.path, toolkit.from, version, torch->cuda),
      fmt::format("set CUDA_HOME to a CUDA {}.x toolkit; only building extensions needs it",
                  versions::parse_version(torch->cuda).front()),
      kToolkit, false};
}

std::optional<Diagnosis> compiler_too_new(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || facts.toolkits.empty()) return std::nullopt;
  const Toolkit& toolkit = facts.toolkits.front();
  const auto gcc = versions::parse_version(facts.host_gcc);
  if (toolkit.newest_gcc == 0 || gcc.empty() ||
      static_cast<std::uint64_t>(gcc.front()) <= toolkit.newest_gcc)
    return std::nullopt;
  return Diagnosis{
      "compiler-too-new",
      fmt::format(
          "the nvcc in {} accepts gcc up to {}, but gcc here is {}: extensions will not build",
          toolkit.path, toolkit.newest_gcc, facts.host_gcc),
      fmt::format("install g++-{0}, and set CC=gcc-{0} CXX=g++-{0} when you build extensions",
                  toolkit.newest_gcc),
      kToolkit, false};
}

const CauseRegistration kToolkitDiffers(&toolkit_differs);
const CauseRegistration kCompiler(&compiler_too_new);

}  // namespace

}  // namespace torchport::host::torch
