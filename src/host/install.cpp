#include "host/install.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "host/versions.h"

namespace torchport::host {

namespace {

constexpr std::string_view kIndex = "https://download.pytorch.org/whl";

std::string without_build(std::string_view version) {
  return std::string(version.substr(0, version.find('+')));
}

// The version in use where its builds are known, else the newest that is.
std::string version_for(const Facts& facts) {
  const Torch* torch = facts.torch();
  return torch != nullptr && !builds_of(torch->version).empty() ? without_build(torch->version)
                                                                : newest_torch();
}

std::vector<std::string> lines(const std::string& version, std::string_view variant) {
  return {fmt::format("pip install torch=={} --index-url {}/{}", version, kIndex, variant),
          fmt::format("uv pip install torch=={} --torch-backend={}", version, variant)};
}

std::string variant_of(std::string_view cuda) {
  std::string variant = "cu";
  for (const char c : cuda)
    if (c != '.') variant += c;
  return variant;
}

bool fits(const TorchBuild& build, const Facts& facts, const std::string& driver_cuda) {
  // Within one major version of CUDA, a driver runs what a newer minor one made.
  if (!same_major(build.cuda, driver_cuda) && older(driver_cuda, build.cuda)) return false;
  std::vector<std::string> archs;
  for (const int arch : build.archs) archs.push_back(fmt::format("sm_{}", arch));
  const auto gpus = facts.of("nvidia");
  return std::all_of(gpus.begin(), gpus.end(),
                     [&](const Gpu* gpu) { return runs_on(archs, gpu->capability); });
}

std::vector<std::string> nvidia_lines(const Facts& facts) {
  std::string cuda = facts.nvidia.cuda;
  if (cuda.empty() && !facts.nvidia.module.empty()) cuda = cuda_of_driver(facts.nvidia.module);
  const auto gpus = facts.of("nvidia");
  const bool told = std::all_of(gpus.begin(), gpus.end(),
                                [](const Gpu* gpu) { return !gpu->capability.empty(); });
  // aarch64 servers have other builds, Jetsons NVIDIA's own.
  if (cuda.empty() || !told || facts.machine != "x86_64" || facts.system != "Linux") return {};
  const std::string version = version_for(facts);
  std::optional<TorchBuild> best;
  for (const TorchBuild& build : builds_of(version)) {
    if (!fits(build, facts, cuda)) continue;
    if (!best || build.by_default || (!best->by_default && older(best->cuda, build.cuda)))
      best = build;
  }
  if (!best) return {};
  const Torch* torch = facts.torch();
  if (torch != nullptr && torch->cuda == best->cuda && torch->fault.empty()) return {};
  if (best->by_default && (torch == nullptr || !torch->fault.empty()))
    return {fmt::format("pip install torch=={}", version),
            fmt::format("uv pip install torch=={}", version)};
  return lines(version, variant_of(best->cuda));
}

}  // namespace

std::vector<std::string> install_lines(const Facts& facts) {
  if (!facts.of("nvidia").empty()) return nvidia_lines(facts);
  const Torch* torch = facts.torch();
  if (!facts.of("intel").empty() && facts.of("amd").empty()) {
    if (torch != nullptr && !torch->xpu.empty() && torch->fault.empty()) return {};
    return lines(version_for(facts), "xpu");
  }
  // Of ROCm there is a build for one or two of its versions at a time, which no file here tells.
  if (!facts.of("amd").empty()) return {};
  if (facts.system == "Darwin" || facts.gpus.empty()) {
    if (torch != nullptr && torch->fault.empty()) return {};
    if (facts.system == "Darwin")
      return {fmt::format("pip install torch=={}", newest_torch()),
              fmt::format("uv pip install torch=={}", newest_torch())};
    return lines(newest_torch(), "cpu");
  }
  return {};
}

}  // namespace torchport::host
