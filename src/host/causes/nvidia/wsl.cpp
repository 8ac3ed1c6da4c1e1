// Finds what keeps GPUs out of WSL.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"
#include "versions/version.h"

namespace torchport::host::nvidia {

namespace {

bool concerns_nvidia(const Facts& facts) {
  const Torch* torch = facts.torch();
  return has_nvidia(facts) || (facts.gpus.empty() && torch != nullptr && !torch->cuda.empty());
}

// /dev/dxg is the same for the cards of all vendors, and there is no bus that shows them.
std::optional<Diagnosis> unknown_vendor(const Facts& facts) {
  if (!facts.gpus.empty()) return std::nullopt;
  return Diagnosis{
      "wsl-unknown-vendor",
      "this WSL has /dev/dxg and no vendor's driver for computing, so that the vendor of the GPU "
      "is not known",
      "look at Windows' Device Manager, and install that vendor's driver in Windows; NVIDIA's is "
      "all that it needs; Intel's also needs its compute runtime in WSL (apt install libze1 "
      "libze-intel-gpu1 intel-opencl-icd), AMD's ROCm in WSL "
      "(https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/wsl/"
      "howto_wsl.html); then run wsl --shutdown in Windows",
      kUserDriver};
}

std::optional<Diagnosis> wsl(const Facts& facts) {
  // A container is told about as one, and ROCm has another way into WSL.
  if (!facts.wsl || in_container(facts) || is_built_for_rocm(facts.torch())) return std::nullopt;
  if (!facts.nvidia.library.empty()) {
    // The library of Windows' driver has no version in its name.
    const bool of_linux =
        facts.nvidia.library != "unknown" && facts.nvidia.library != facts.nvidia.module;
    if (!of_linux) return std::nullopt;
    return Diagnosis{
        "wsl-linux-driver",
        fmt::format("Linux's driver {} is installed in WSL, and its libcuda hides that of Windows' "
                    "driver",
                    facts.nvidia.library),
        "remove it here (apt purge 'nvidia-driver-*' 'libnvidia-compute-*'): only the libcuda in "
        "/usr/lib/wsl/lib works",
        kUserDriver};
  }
  if (find_node(facts, "/dev/dxg") == nullptr)
    return Diagnosis{
        "wsl-1",
        "this WSL has no /dev/dxg: it is WSL 1, or this Windows does not support GPUs in WSL",
        "run wsl --set-version DISTRIBUTION 2, then wsl --update", kKernel};
  if (facts.gpus.empty() && is_built_for_xpu(facts.torch())) return std::nullopt;
  if (!concerns_nvidia(facts)) return unknown_vendor(facts);
  return Diagnosis{
      "wsl-no-driver", "/usr/lib/wsl/lib has no libcuda; NVIDIA's driver for Windows puts it there",
      "install NVIDIA's driver in Windows (not in WSL), then run wsl --shutdown", kUserDriver};
}

// Driver 555 split libcuda, and older container tools do not pass in the new part.
std::optional<Diagnosis> container_lacks_part(const Facts& facts) {
  constexpr std::string_view kFirstWithPart = "555";
  const NvidiaDriver& driver = facts.nvidia;
  if (!facts.wsl || !in_container(facts) || driver.library.empty() || driver.module.empty() ||
      driver.dxgdmal == "found" || versions::older(driver.module, kFirstWithPart))
    return std::nullopt;
  const std::string remedy =
      "update Docker Desktop to 4.31 or newer, or nvidia-container-toolkit in WSL to 1.14.4 or "
      "newer, and start the container anew";
  if (driver.dxgdmal.empty())
    return Diagnosis{
        "wsl-container-part-not-asked",
        fmt::format("whether this container has libnvdxgdmal.so.1, which the driver {} "
                    "needs, was not recorded; without it CUDA fails with error 500",
                    driver.module),
        "if it does: " + remedy, kContainer, false};
  return Diagnosis{
      "wsl-container-lacks-part",
      fmt::format("this container was not given libnvdxgdmal.so.1, which Windows' driver "
                  "{} needs: CUDA fails with error 500",
                  driver.module),
      remedy, kContainer};
}

const CauseRegistration kPart(&container_lacks_part);
const CauseRegistration kWsl(&wsl);

}  // namespace

}  // namespace torchport::host::nvidia
