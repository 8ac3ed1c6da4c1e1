#include "host/causes/install.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "releases/published.h"
#include "releases/versions.h"

namespace torchport::host {

namespace {

// The version in use where its builds are known, else the newest that is.
std::string version_for(const Facts& facts) {
  const Torch* torch = facts.torch();
  return torch != nullptr && !builds_of(torch->version).empty() ? without_build(torch->version)
                                                                : newest_torch();
}

std::vector<std::string> lines(const std::string& version, const std::string& variant) {
  return {"pip install " + pip_arguments(version, variant),
          fmt::format("uv pip install torch=={} --torch-backend={}", version, variant)};
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

// The last torch for drivers that end at CUDA 11, where the Python in use has it.
std::vector<std::string> lines_of_cuda_11(const Facts& facts, const std::string& driver_cuda) {
  static const TorchBuild kLast{"2.7", "11.8", {50, 60, 70, 75, 80, 86, 90}, false};
  const Torch* torch = facts.torch();
  const bool python = torch == nullptr || torch->python.empty() || older(torch->python, "3.14");
  if (!python || !same_major(driver_cuda, kLast.cuda) || !fits(kLast, facts, driver_cuda))
    return {};
  if (torch != nullptr && torch->cuda == kLast.cuda && torch->fault.empty()) return {};
  return lines("2.7.1", variant_of_cuda(kLast.cuda));
}

// Of ROCm there is one build for each version of torch; it runs on the cards that it has code for.
std::vector<std::string> amd_lines(const Facts& facts) {
  const std::string version = version_for(facts);
  const RocmBuild build = rocm_build_of(version);
  if (facts.machine != "x86_64" || facts.system != "Linux" || build.rocm.empty()) return {};
  for (const Gpu* gpu : facts.of("amd"))
    if (std::find(build.archs.begin(), build.archs.end(), gpu->capability) == build.archs.end())
      return {};
  const Torch* torch = facts.torch();
  if (torch != nullptr && !torch->hip.empty() && torch->fault.empty()) return {};
  const std::string arguments = pip_arguments(version, fmt::format("rocm{}", build.rocm));
  return {"pip install " + arguments, "uv pip install " + arguments};
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
  if (!best) return lines_of_cuda_11(facts, cuda);
  const Torch* torch = facts.torch();
  if (torch != nullptr && torch->cuda == best->cuda && torch->fault.empty()) return {};
  if (best->by_default && (torch == nullptr || !torch->fault.empty()))
    return {fmt::format("pip install torch=={}", version),
            fmt::format("uv pip install torch=={}", version)};
  return lines(version, variant_of_cuda(best->cuda));
}

}  // namespace

std::vector<std::string> install_lines(const Facts& facts) {
  if (!facts.of("nvidia").empty()) return nvidia_lines(facts);
  const Torch* torch = facts.torch();
  if (!facts.of("intel").empty() && facts.of("amd").empty()) {
    if (torch != nullptr && !torch->xpu.empty() && torch->fault.empty()) return {};
    return lines(version_for(facts), "xpu");
  }
  if (!facts.of("amd").empty()) return amd_lines(facts);
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
