// Finds the causes for Intel's GPUs (XPU) and Apple's (MPS).
#include <algorithm>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "releases/table.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> intel(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (facts.of("intel").empty() || torch == nullptr || torch->version_of("xpu").empty())
    return std::nullopt;
  const bool module =
      std::any_of(facts.modules.begin(), facts.modules.end(),
                  [](const std::string& name) { return name == "xe" || name == "i915"; });
  if (!module && !facts.wsl && facts.container.empty())
    return Diagnosis{"no-driver", "neither of Intel's kernel modules (xe, i915) is loaded",
                     "use a kernel that supports the card (6.8 or newer for Arc B), and install "
                     "intel-opencl-icd",
                     kKernel};
  for (const DeviceNode& node : facts.nodes)
    if (node.path.starts_with("/dev/dri/render") && !node.readable)
      return Diagnosis{"no-permission", fmt::format("this user may not open {}", node.path),
                       fmt::format("usermod -aG {} $USER, and log in again",
                                   node.group.empty() ? "render" : node.group),
                       kPermission};
  if (facts.level_zero.empty())
    return Diagnosis{"no-level-zero", "Intel's Level Zero loader (libze_loader.so.1) was not found",
                     "install it: apt install libze1 libze-intel-gpu1", kUserDriver};
  if (!facts.level_zero_state.empty() && facts.level_zero_state != "ok")
    return Diagnosis{
        "level-zero-fails",
        fmt::format("Intel's Level Zero loader {} finds no driver: {}", facts.level_zero,
                    facts.level_zero_state),
        "install the driver of the same release as libze1: apt install libze-intel-gpu1",
        kUserDriver};
  return std::nullopt;
}

std::optional<Diagnosis> apple(const Facts& facts) {
  if (facts.system != "Darwin" || facts.torch() == nullptr) return std::nullopt;
  const bool silicon = !facts.of("apple").empty();
  if (silicon && facts.machine == "x86_64")
    return Diagnosis{
        "rosetta",
        "this Python is built for Intel processors and runs under Rosetta: its torch has no MPS",
        "install a Python for arm64, and torch in it", kBuild};
  const releases::TorchRelease* release = releases::release_of(facts.torch()->version);
  const std::string needed = release == nullptr ? std::string() : release->macos;
  if (silicon && !needed.empty() && !facts.os_version.empty() &&
      versions::older(facts.os_version, needed))
    return Diagnosis{"macos-too-old",
                     fmt::format("macOS {} is too old for the MPS of torch {}", facts.os_version,
                                 facts.torch()->version),
                     fmt::format("update to macOS {} or newer", needed), kKernel};
  return std::nullopt;
}

const CauseRegistration kIntel(&intel);
const CauseRegistration kApple(&apple);

}  // namespace

}  // namespace torchport::host
