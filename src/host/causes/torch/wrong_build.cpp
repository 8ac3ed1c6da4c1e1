// Finds a build for the CPU or for GPUs of another vendor.
#include <fmt/format.h>

#include "devices/device_kind.h"
#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host::torch {

namespace {

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
  if (is_jetson(facts)) return std::nullopt;          // there is a separate cause for Jetsons
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

const CauseRegistration kWrongBuild(&wrong_build);

}  // namespace

}  // namespace torchport::host::torch
