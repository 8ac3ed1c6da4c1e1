// The build of torch against what the machine has.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

std::optional<Finding> broken(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->fault.empty()) return std::nullopt;
  return Finding{"torch-damaged", fmt::format("torch in {}: {}", torch->root, torch->fault),
                 "install it again", kBuild};
}

// The vendor whose GPUs this build computes on; empty for a build for the CPU alone.
std::string vendor_of(const Torch& torch) {
  if (!torch.cuda.empty()) return "nvidia";
  if (!torch.hip.empty()) return "amd";
  if (!torch.xpu.empty()) return "intel";
  return {};
}

std::optional<Finding> wrong_build(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || facts.gpus.empty() || !torch->fault.empty()) return std::nullopt;
  if (facts.system == "Darwin") return std::nullopt;  // its one build has MPS
  for (const std::string& module : facts.modules)
    if (module == "nvgpu") return std::nullopt;  // Jetsons have a cause of their own
  const std::string vendor = vendor_of(*torch);
  const Gpu& gpu = facts.gpus.front();
  if (vendor.empty()) {
    // A chip's own graphics unit is no reason for another build.
    if (facts.of("nvidia").empty() && facts.of("amd").empty() && facts.level_zero.empty())
      return std::nullopt;
    return Finding{
        "cpu-build",
        fmt::format("torch {} is a build for the CPU, whatever GPU there is", torch->version),
        "install the build for this machine's GPU", kBuild};
  }
  if (!facts.of(vendor).empty()) return std::nullopt;
  return Finding{"other-vendors-build",
                 fmt::format("torch {} is built for GPUs of {}, and this machine's is of {}",
                             torch->version, vendor, gpu.vendor),
                 "install the build for this machine's GPU", kBuild};
}

std::optional<Finding> toolkit_differs(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || facts.toolkits.empty()) return std::nullopt;
  const Toolkit& toolkit = facts.toolkits.front();
  const std::string& version = toolkit.nvcc.empty() ? toolkit.version : toolkit.nvcc;
  if (version.empty() || versions::same_major(version, torch->cuda)) return std::nullopt;
  return Finding{
      "toolkit-differs",
      fmt::format("the toolkit in {} ({}) is CUDA {}, torch is built with {}: extensions will not "
                  "build",
                  toolkit.path, toolkit.from, version, torch->cuda),
      fmt::format("set CUDA_HOME to a toolkit {}.x, for building extensions alone",
                  versions::parse_version(torch->cuda).front()),
      kToolkit, false};
}

std::optional<Finding> compiler_too_new(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || facts.toolkits.empty()) return std::nullopt;
  const Toolkit& toolkit = facts.toolkits.front();
  const auto gcc = versions::parse_version(facts.host_gcc);
  if (toolkit.newest_gcc == 0 || gcc.empty() ||
      static_cast<std::uint64_t>(gcc.front()) <= toolkit.newest_gcc)
    return std::nullopt;
  return Finding{
      "compiler-too-new",
      fmt::format("the nvcc in {} takes gcc up to {}, gcc here is {}: extensions will not build",
                  toolkit.path, toolkit.newest_gcc, facts.host_gcc),
      fmt::format("install g++-{0}, and set CC=gcc-{0} CXX=g++-{0} for building extensions",
                  toolkit.newest_gcc),
      kToolkit, false};
}

std::optional<Finding> shadowed(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || facts.shadowing.empty()) return std::nullopt;
  return Finding{"shadowed-libraries",
                 fmt::format("LD_LIBRARY_PATH leads to {}, which may be loaded in place of what "
                             "torch {} was built with and brings along",
                             fmt::join(facts.shadowing, ", "), torch->version),
                 "take the folder out of LD_LIBRARY_PATH where torch runs", kEnvironment, false};
}

std::optional<Finding> several(const Facts& facts) {
  if (facts.torches.size() < 2) return std::nullopt;
  return Finding{"several-torches",
                 fmt::format("the environment has {} in {} and {} in {}: the first is imported",
                             facts.torches[0].version, facts.torches[0].root,
                             facts.torches[1].version, facts.torches[1].root),
                 "remove the one that is not meant (pip uninstall torch; PYTHONPATH, ~/.local)",
                 kBuild, false};
}

const CauseRegistration kBroken(&broken);
const CauseRegistration kWrongBuild(&wrong_build);
const CauseRegistration kToolkitDiffers(&toolkit_differs);
const CauseRegistration kCompiler(&compiler_too_new);
const CauseRegistration kShadowed(&shadowed);
const CauseRegistration kSeveral(&several);

}  // namespace

}  // namespace torchport::host
