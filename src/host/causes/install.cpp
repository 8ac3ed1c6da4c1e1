#include "host/causes/install.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "host/causes/queries.h"
#include "releases/cuda.h"
#include "releases/published.h"
#include "releases/table.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

using releases::CudaBuild;
using releases::TorchRelease;

struct Choice {
  const TorchRelease* release;
  std::string version;  // the installed one, or the release's newest
  bool in_use;          // the environment has this version
  bool again = false;   // it has, and its torch does not work: even the same build replaces it
};

bool works(const Torch* torch) {
  return torch != nullptr && torch->fault.empty();
}

// The versions that may be installed, best first: the installed one, then the releases from the
// newest on that have wheels for the environment's Python.
std::vector<Choice> choices(const Facts& facts) {
  std::vector<Choice> list;
  const Torch* torch = facts.torch();
  if (torch != nullptr)
    if (const TorchRelease* release = releases::release_of(torch->version)) {
      const std::string version = versions::without_local(torch->version);
      // A nightly build is on another index, for some weeks: the release that it became is not.
      if (version.find_first_not_of("0123456789.") == std::string::npos)
        list.push_back({release, version, true, !works(torch)});
      else
        list.push_back({release, release->version, false});
    }
  const std::string& python =
      torch == nullptr || torch->python.empty() ? facts.python : torch->python;
  for (const TorchRelease& release : releases::table().releases) {
    const auto& pythons = release.pythons;
    if (python.empty() || std::find(pythons.begin(), pythons.end(), python) != pythons.end())
      list.push_back({&release, release.version, false});
  }
  return list;
}

// The lines that install a build. `variant` is empty for the build of PyPI.
std::vector<std::string> lines(const Choice& choice, const std::string& variant) {
  const std::string pip = choice.again ? "pip install --force-reinstall " : "pip install ";
  const std::string uv =
      choice.again ? "uv pip install --reinstall-package torch " : "uv pip install ";
  if (variant.empty()) {
    const std::string requirement = fmt::format("torch=={}", choice.version);
    return {pip + requirement, uv + requirement};
  }
  const std::string arguments = releases::pip_arguments_to_replace(choice.version, variant);
  // For ROCm both tools get the index.
  if (variant.starts_with("rocm")) return {pip + arguments, uv + arguments};
  return {pip + arguments,
          fmt::format("{}{} --torch-backend={}", uv,
                      releases::requirement_of_build(choice.version, variant), variant)};
}

bool fits(const CudaBuild& build, const Facts& facts, const std::string& driver_cuda) {
  // Within one major version of CUDA, a driver also runs programs of a newer minor version.
  if (!versions::same_major(build.cuda, driver_cuda) && versions::older(driver_cuda, build.cuda))
    return false;
  std::vector<std::string> archs;
  archs.reserve(build.archs.size());
  for (const int arch : build.archs) archs.push_back(fmt::format("sm_{}", arch));
  const auto gpus = facts.of("nvidia");
  return std::all_of(gpus.begin(), gpus.end(),
                     [&](const Gpu* gpu) { return releases::runs_on(archs, gpu->capability); });
}

// The builds for this machine's processor; null if they are unknown.
const std::vector<CudaBuild>* builds_for(const TorchRelease& release, const Facts& facts) {
  if (facts.machine == "x86_64") return &release.cuda;
  // A Jetson has a driver and wheels of its own.
  if (facts.machine != "aarch64" || is_jetson(facts) || !release.cuda_aarch64) return nullptr;
  return &*release.cuda_aarch64;
}

// The default build if it fits, else the one for the newest CUDA; null if none fits.
const CudaBuild* best_build(const TorchRelease& release, const Facts& facts,
                            const std::string& driver_cuda) {
  const auto* builds = builds_for(release, facts);
  if (builds == nullptr) return nullptr;
  const CudaBuild* best = nullptr;
  for (const CudaBuild& build : *builds) {
    if (!fits(build, facts, driver_cuda)) continue;
    if (best == nullptr || build.by_default ||
        (!best->by_default && versions::older(best->cuda, build.cuda)))
      best = &build;
  }
  return best;
}

struct NvidiaBuild {
  Choice choice;
  const CudaBuild* build = nullptr;
};

std::optional<NvidiaBuild> nvidia_build(const Facts& facts, const std::string& driver_cuda) {
  for (const Choice& choice : choices(facts))
    if (const CudaBuild* best = best_build(*choice.release, facts, driver_cuda))
      return NvidiaBuild{choice, best};
  return std::nullopt;
}

// The CUDA that the driver runs, if the builds for this machine are known; else empty.
std::string cuda_to_build_for(const Facts& facts) {
  std::string cuda = facts.nvidia.cuda;
  if (cuda.empty() && !facts.nvidia.module.empty())
    cuda = releases::cuda_of_driver(facts.nvidia.module);
  const auto gpus = facts.of("nvidia");
  const bool told = std::all_of(gpus.begin(), gpus.end(),
                                [](const Gpu* gpu) { return !gpu->capability.empty(); });
  // What the driver supports is known after a reboot.
  return !told || facts.system != "Linux" || driver_mismatch(facts) ? std::string() : cuda;
}

std::vector<std::string> nvidia_lines(const Facts& facts) {
  const std::string cuda = cuda_to_build_for(facts);
  if (cuda.empty()) return {};
  const auto found = nvidia_build(facts, cuda);
  if (!found) return {};
  const Torch* torch = facts.torch();
  if (found->choice.in_use && works(torch) && torch->cuda == found->build->cuda) return {};
  if (found->build->by_default && !works(torch)) return lines(found->choice, {});
  return lines(found->choice, releases::variant_of_cuda(found->build->cuda));
}

// Each version of torch has one build for ROCm, which runs on the cards that it has code for.
std::vector<std::string> amd_lines(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (facts.machine != "x86_64" || facts.system != "Linux") return {};
  const auto gpus = facts.of("amd");
  const auto runs = [](const std::vector<std::string>& archs, const Gpu* gpu) {
    return std::find(archs.begin(), archs.end(), gpu->capability) != archs.end();
  };
  const auto may_run = [&](const Gpu* gpu) {
    return torch->archs.empty() || gpu->capability.empty() || runs(torch->archs, gpu);
  };
  if (works(torch) && !torch->hip.empty() && std::all_of(gpus.begin(), gpus.end(), may_run))
    return {};
  for (const Choice& choice : choices(facts)) {
    const auto& rocm = choice.release->rocm;
    if (!rocm) continue;
    const auto& archs = rocm->archs;
    const bool fit =
        std::all_of(gpus.begin(), gpus.end(), [&](const Gpu* gpu) { return runs(archs, gpu); });
    if (!fit) continue;
    return lines(choice, fmt::format("rocm{}", rocm->version));
  }
  return {};
}

std::vector<std::string> intel_lines(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (works(torch) && !torch->version_of("xpu").empty()) return {};
  for (const Choice& choice : choices(facts))
    if (choice.release->xpu.value_or(false)) return lines(choice, "xpu");
  return {};
}

// For machines without a GPU, and for Apple's, whose only build has MPS.
std::vector<std::string> other_lines(const Facts& facts) {
  if (works(facts.torch())) return {};
  // No release of the table has wheels for Macs with an Intel processor.
  if (facts.system == "Darwin" && facts.machine == "x86_64") return {};
  for (const Choice& choice : choices(facts)) {
    if (choice.in_use) continue;
    const std::string& macos = choice.release->macos;
    if (facts.system == "Darwin" && !facts.os_version.empty() &&
        versions::older(facts.os_version, macos))
      continue;
    return lines(choice, facts.system == "Darwin" ? "" : "cpu");
  }
  return {};
}

}  // namespace

std::string build_to_install(const Facts& facts) {
  const std::string cuda = cuda_to_build_for(facts);
  if (cuda.empty()) return {};
  const auto found = nvidia_build(facts, cuda);
  return found ? fmt::format("torch {} for CUDA {}", found->choice.version, found->build->cuda)
               : std::string();
}

std::vector<std::string> install_lines(const Facts& facts) {
  if (has_musl(facts)) return {};
  if (!facts.of("nvidia").empty()) return nvidia_lines(facts);
  if (!facts.of("amd").empty()) return amd_lines(facts);
  if (!facts.of("intel").empty()) return intel_lines(facts);
  if (facts.system == "Darwin" || facts.gpus.empty()) return other_lines(facts);
  return {};
}

}  // namespace torchport::host
