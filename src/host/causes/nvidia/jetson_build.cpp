// Finds a build that is not for Jetsons on a Jetson.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"
#include "releases/cuda.h"
#include "versions/version.h"

namespace torchport::host::nvidia {

namespace {

// Code for other cards does not run on a Jetson, even if it is for an older card of its generation:
// "sm_87" or PTX must be there ("CUDA for Tegra", binary compatibility).
bool has_code_for(const Torch& torch, const std::string& capability) {
  std::string number = capability;
  number.erase(std::remove(number.begin(), number.end(), '.'), number.end());
  return std::any_of(torch.archs.begin(), torch.archs.end(), [&](const std::string& arch) {
    return arch == "sm_" + number ||
           (arch.starts_with("compute_") && releases::runs_on({arch}, capability));
  });
}

struct JetPack {
  int major;
  std::string_view kernel;  // of Jetson Linux
  int cuda;                 // its major version
  std::string_view python;  // of NVIDIA's wheels
};
constexpr std::array<JetPack, 4> kJetPacks{{{4, "4.9.", 10, "3.6"},
                                            {5, "5.10.", 11, "3.8"},
                                            {6, "5.15.", 12, "3.10"},
                                            {7, "6.8.", 13, "3.12"}}};

// JetPack's version by its kernel, or else by its CUDA, which may have been updated alone; null if
// neither tells it.
const JetPack* jetpack_of(const Facts& facts) {
  if (facts.kernel.find("tegra") != std::string::npos)
    for (const JetPack& one : kJetPacks)
      if (facts.kernel.starts_with(one.kernel)) return &one;
  const auto cuda = versions::parse_version(facts.nvidia.cuda);
  for (const JetPack& one : kJetPacks)
    if (!cuda.empty() && cuda.front() == one.cuda) return &one;
  return nullptr;
}

// NVIDIA's wheels are for the Python of JetPack's Ubuntu only.
std::string remedy_for(const Facts& facts) {
  constexpr std::string_view kLink =
      "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html";
  const JetPack* jetpack = jetpack_of(facts);
  if (jetpack == nullptr)
    return fmt::format("install NVIDIA's own wheel for this JetPack: {}", kLink);
  const Torch& torch = *facts.torch();
  const std::string& python = torch.python.empty() ? facts.python : torch.python;
  const std::string other =
      python.empty() || python == jetpack->python
          ? std::string()
          : fmt::format(", and this environment has Python {}: make one with python{} -m venv",
                        python, jetpack->python);
  return fmt::format("install NVIDIA's own wheel for this JetPack, {}: {}; it needs Python {}{}",
                     jetpack->major, kLink, jetpack->python, other);
}

std::optional<Diagnosis> jetson(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (!is_jetson(facts) || torch == nullptr || !torch->fault.empty()) return std::nullopt;
  const auto gpus = facts.of("nvidia");
  const std::string capability = gpus.empty() ? std::string() : gpus.front()->capability;
  std::string why;
  if (torch->cuda.empty())
    why = fmt::format("torch {} from PyPI is a build for the CPU", torch->version);
  else if (!capability.empty() && !torch->archs.empty() && !has_code_for(*torch, capability))
    why = fmt::format("torch {} is built for desktops and servers: it has code for {}, not for {}",
                      torch->version, fmt::join(torch->archs, " "), capability);
  else if (!facts.nvidia.cuda.empty() && !versions::same_major(facts.nvidia.cuda, torch->cuda) &&
           versions::older(facts.nvidia.cuda, torch->cuda))
    why = fmt::format("its JetPack runs CUDA up to {}, but torch {} is built with CUDA {}",
                      facts.nvidia.cuda, torch->version, torch->cuda);
  if (why.empty()) return std::nullopt;
  return Diagnosis{"jetson-build", "this is a Jetson, and " + why, remedy_for(facts), kBuild};
}

const CauseRegistration kJetson(&jetson);

}  // namespace

}  // namespace torchport::host::nvidia
