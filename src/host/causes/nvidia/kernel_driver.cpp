// Finds cards that NVIDIA's kernel driver does not serve.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/nvidia/packages.h"
#include "host/causes/queries.h"

namespace torchport::host::nvidia {

namespace {

std::optional<Diagnosis> other_driver_bound(const Facts& facts) {
  for (const Gpu* gpu : facts.of("nvidia")) {
    if (gpu->driver == "nouveau")
      return Diagnosis{
          "nouveau",
          fmt::format("the card at {} uses the driver nouveau, which does not support CUDA",
                      gpu->bus),
          fmt::format("install NVIDIA's driver and reboot: {}", install_driver(facts)), kKernel};
    if (gpu->driver.starts_with("vfio"))
      return Diagnosis{"passed-through",
                       fmt::format("the card at {} is reserved for a virtual machine ({})",
                                   gpu->bus, gpu->driver),
                       "use it in the virtual machine, or bind it to the driver nvidia again",
                       kKernel};
  }
  return std::nullopt;
}

std::optional<Diagnosis> no_driver(const Facts& facts) {
  if (!has_nvidia(facts) || facts.wsl || in_container(facts) || is_jetson(facts))
    return std::nullopt;
  if (!facts.nvidia.module.empty() || other_driver_bound(facts)) return std::nullopt;
  if (facts.nvidia.library.empty())
    return Diagnosis{"no-driver", "NVIDIA's driver is not installed",
                     fmt::format("install it and reboot: {}", install_driver(facts)), kKernel};
  return Diagnosis{
      "module-not-loaded",
      fmt::format("the driver {} is installed, but its kernel module is not loaded",
                  facts.nvidia.library),
      facts.secure_boot
          ? "Secure Boot is on and refuses a module that is not signed: enroll the key "
            "that dkms signs with (mokutil --import /var/lib/dkms/mok.pub) and reboot, "
            "or install the module that the distribution signs"
          : "reboot if the kernel or the driver was updated since this machine started; else run "
            "modprobe nvidia to see why: the module must be built for this kernel (dkms "
            "autoinstall), and with Secure Boot it must be signed",
      kKernel};
}

const CauseRegistration kBound(&other_driver_bound);
const CauseRegistration kNoDriver(&no_driver);

}  // namespace

}  // namespace torchport::host::nvidia
