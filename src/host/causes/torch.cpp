// Finds the causes in torch's build, compared with what the machine has.
#include <fmt/format.h>

#include "devices/device_kind.h"
#include "host/causes/cause.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> broken(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->fault.empty()) return std::nullopt;
  return Diagnosis{"torch-damaged", fmt::format("torch in {}: {}", torch->root, torch->fault),
                   "install it again", kBuild};
}

// The vendor whose GPUs this build computes on; empty for a build for the CPU only.
std::string vendor_of(const Torch& torch) {
  if (!torch.hip.empty()) return "amd";
  const devices::DeviceKind* kind = torch.kind();
  return kind == nullptr ? std::string() : std::string(kind->host.vendor);
}

std::optional<Diagnosis> wrong_build(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || facts.gpus.empty() || !torch->fault.empty()) return std::nullopt;
  if (facts.system == "Darwin") return std::nullopt;  // its only build has MPS
  for (const std::string& module : facts.modules)
    if (module == "nvgpu") return std::nullopt;  // there is a separate cause for Jetsons
  const std::string vendor = vendor_of(*torch);
  const Gpu& gpu = facts.gpus.front();
  if (vendor.empty()) {
    // A graphics unit within the CPU is no reason for another build.
    if (facts.of("nvidia").empty() && facts.of("amd").empty() && facts.level_zero.empty())
      return std::nullopt;
    return Diagnosis{
        "cpu-build",
        fmt::format("torch {} is a build for the CPU, so it does not use any GPU", torch->version),
        "install the build for this machine's GPU", kBuild};
  }
  if (!facts.of(vendor).empty()) return std::nullopt;
  return Diagnosis{"other-vendors-build",
                   fmt::format("torch {} is built for GPUs of {}, but this machine's GPU is of {}",
                               torch->version, vendor, gpu.vendor),
                   "install the build for this machine's GPU", kBuild};
}

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

std::optional<Diagnosis> shadowed(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || facts.shadowing.empty()) return std::nullopt;
  return Diagnosis{"shadowed-libraries",
                   fmt::format("LD_LIBRARY_PATH leads to {}, which may be loaded instead of the "
                               "libraries that come with torch {}",
                               fmt::join(facts.shadowing, ", "), torch->version),
                   "remove the folder from LD_LIBRARY_PATH where torch runs", kEnvironment, false};
}

std::optional<Diagnosis> several(const Facts& facts) {
  if (facts.torches.size() < 2) return std::nullopt;
  return Diagnosis{
      "several-torches",
      fmt::format("torch is installed twice: {} in {} and {} in {}; Python imports the first",
                  facts.torches[0].version, facts.torches[0].root, facts.torches[1].version,
                  facts.torches[1].root),
      "remove the one that you do not want (pip uninstall torch; look at PYTHONPATH and ~/.local)",
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
