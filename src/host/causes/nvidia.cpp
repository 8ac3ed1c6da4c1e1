// Finds the causes for NVIDIA's GPUs, from the card to the driver's libraries.
#include <algorithm>

#include <fmt/format.h>

#include "devices/device_kind.h"
#include "devices/visibility.h"
#include "host/causes/cause.h"
#include "releases/cuda.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

bool has_nvidia(const Facts& facts) {
  return !facts.of("nvidia").empty();
}

bool has_node(const Facts& facts, std::string_view start) {
  return std::any_of(facts.nodes.begin(), facts.nodes.end(),
                     [&](const DeviceNode& node) { return node.path.starts_with(start); });
}

bool in_container(const Facts& facts) {
  return !facts.container.empty();
}

std::optional<Diagnosis> other_driver_bound(const Facts& facts) {
  for (const Gpu* gpu : facts.of("nvidia")) {
    if (gpu->driver == "nouveau")
      return Diagnosis{
          "nouveau",
          fmt::format("the card at {} uses the driver nouveau, which does not support CUDA",
                      gpu->bus),
          "install NVIDIA's driver (Debian, Ubuntu: apt install nvidia-driver) and reboot",
          kKernel};
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
  if (!has_nvidia(facts) || facts.wsl || in_container(facts)) return std::nullopt;
  if (!facts.nvidia.module.empty() || other_driver_bound(facts)) return std::nullopt;
  if (facts.nvidia.library.empty())
    return Diagnosis{"no-driver", "NVIDIA's driver is not installed",
                     "install it (Debian, Ubuntu: apt install nvidia-driver) and reboot", kKernel};
  return Diagnosis{"module-not-loaded",
                   fmt::format("the driver {} is installed, but its kernel module is not loaded",
                               facts.nvidia.library),
                   "run modprobe nvidia to see why; after a kernel update the module must be built "
                   "again (dkms autoinstall), and with Secure Boot it must be signed",
                   kKernel};
}

std::optional<Diagnosis> mismatch(const Facts& facts) {
  const auto& [module, library, nvml, cuda] = facts.nvidia;
  if (module.empty() || library.empty() || module == library) return std::nullopt;
  return Diagnosis{
      "driver-mismatch",
      fmt::format("the loaded kernel module is {}, the driver's libraries are {}", module, library),
      in_container(facts)
          ? "the image contains libraries of another driver: remove them (libcuda.so.1); the "
            "container runtime adds the host's"
          : "the driver was updated: reboot, or unload the module and load it again",
      kUserDriver};
}

std::optional<Diagnosis> container_without_runtime(const Facts& facts) {
  if (!in_container(facts) || facts.nvidia.module.empty()) return std::nullopt;
  if (!facts.nvidia.library.empty() && has_node(facts, "/dev/nvidia")) return std::nullopt;
  const std::string remedy =
      facts.container == "kubernetes"
          ? "request it in the pod (resources.limits: nvidia.com/gpu: 1), on nodes with NVIDIA's "
            "device plugin"
          : fmt::format("start it with {}; the host needs nvidia-container-toolkit",
                        facts.container == "podman" ? "podman run --device nvidia.com/gpu=all"
                                                    : "docker run --gpus all");
  return Diagnosis{
      "container-without-gpu",
      fmt::format(
          "the host has NVIDIA's driver {}, but this {} container was started without the GPU",
          facts.nvidia.module, facts.container),
      remedy, kContainer};
}

std::optional<Diagnosis> no_libcuda(const Facts& facts) {
  if (!has_nvidia(facts) || in_container(facts) || facts.wsl) return std::nullopt;
  if (facts.nvidia.module.empty() || !facts.nvidia.library.empty()) return std::nullopt;
  return Diagnosis{
      "no-libcuda",
      fmt::format("the kernel module {} is loaded, but libcuda.so.1 was not found",
                  facts.nvidia.module),
      fmt::format("install the driver's libraries of the same version (Debian, Ubuntu: apt "
                  "install libcuda1={}*)",
                  facts.nvidia.module),
      kUserDriver};
}

std::optional<Diagnosis> no_permission(const Facts& facts) {
  for (const DeviceNode& node : facts.nodes) {
    if (!node.path.starts_with("/dev/nvidia") || node.readable) continue;
    // Only administrators control MIG.
    if (node.path.find("caps") != std::string::npos) continue;
    return Diagnosis{
        "no-permission", fmt::format("this user may not open {}", node.path),
        node.group.empty() || node.group == "root"
            ? fmt::format("chmod a+rw {}, or set NVreg_DeviceFileMode=0666 for the module",
                          node.path)
            : fmt::format("usermod -aG {} $USER, and log in again", node.group),
        kPermission};
  }
  return std::nullopt;
}

std::optional<Diagnosis> no_nodes(const Facts& facts) {
  if (facts.nvidia.module.empty() || facts.wsl || in_container(facts)) return std::nullopt;
  if (has_node(facts, "/dev/nvidia")) return std::nullopt;
  return Diagnosis{
      "no-device-nodes", "the kernel module is loaded, but /dev/nvidia0 does not exist",
      "nvidia-modprobe -u -c=0 creates the device nodes; nvidia-persistenced keeps them",
      kPermission};
}

std::optional<Diagnosis> wsl(const Facts& facts) {
  if (!facts.wsl || !facts.nvidia.library.empty()) return std::nullopt;
  if (!has_node(facts, "/dev/dxg"))
    return Diagnosis{
        "wsl-1",
        "this WSL has no /dev/dxg: it is WSL 1, or this Windows does not support GPUs in WSL",
        "run wsl --set-version DISTRIBUTION 2, then wsl --update", kKernel};
  return Diagnosis{
      "wsl-no-driver", "/usr/lib/wsl/lib has no libcuda; NVIDIA's driver for Windows puts it there",
      "install NVIDIA's driver in Windows (not in WSL), then run wsl --shutdown", kUserDriver};
}

std::optional<Diagnosis> stub(const Facts& facts) {
  const auto path = facts.variable("LD_LIBRARY_PATH");
  if (!has_nvidia(facts) || !path || path->find("/stubs") == std::string::npos) return std::nullopt;
  return Diagnosis{
      "stub-library",
      "LD_LIBRARY_PATH contains a folder of stubs: its libcuda.so.1 is only for linking "
      "and finds no device",
      "remove the folder with /stubs from LD_LIBRARY_PATH", kEnvironment};
}

std::optional<Diagnosis> hidden(const Facts& facts) {
  if (!has_nvidia(facts)) return std::nullopt;
  const std::string_view variable = devices::find_kind("cuda")->visibility_variable;
  if (const auto visible = facts.variable(std::string(variable))) {
    const auto named = devices::named_devices(*visible);
    if (named.empty())
      return Diagnosis{"hidden", fmt::format("{}=\"{}\" hides every GPU", variable, *visible),
                       fmt::format("unset {0}, or name the devices: {0}=0", variable),
                       kEnvironment};
    const int count = static_cast<int>(facts.of("nvidia").size());
    if (named.front().number >= count)
      return Diagnosis{
          "hidden",
          fmt::format("{}={} names GPU {} first, but there {} only {}", variable, *visible,
                      named.front().number, count == 1 ? "is" : "are", count),
          "number the GPUs from 0; CUDA ignores every GPU after a number that does not exist",
          kEnvironment};
  }
  const auto given = facts.variable("NVIDIA_VISIBLE_DEVICES");
  if (given && in_container(facts) && (given->empty() || *given == "void" || *given == "none"))
    return Diagnosis{
        "hidden-from-container",
        fmt::format(
            "NVIDIA_VISIBLE_DEVICES=\"{}\": the container runtime gave this container no GPU",
            *given),
        "start the container with --gpus all, or -e NVIDIA_VISIBLE_DEVICES=all", kContainer};
  return std::nullopt;
}

std::optional<Diagnosis> too_old(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || facts.nvidia.module.empty()) return std::nullopt;
  const std::string least = releases::least_driver(torch->cuda);
  if (least.empty() || !versions::older(facts.nvidia.module, least)) return std::nullopt;
  const std::string runs =
      facts.nvidia.cuda.empty() ? releases::cuda_of_driver(facts.nvidia.module) : facts.nvidia.cuda;
  return Diagnosis{
      "driver-too-old",
      fmt::format("the driver {} runs CUDA up to {}, but torch {} is built with CUDA {}",
                  facts.nvidia.module, runs.empty() ? "10" : runs, torch->version, torch->cuda),
      fmt::format("update the driver to {} or newer, or install a torch for an older CUDA", least),
      kBuild};
}

std::optional<Diagnosis> arch_missing(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->cuda.empty() || torch->archs.empty()) return std::nullopt;
  std::vector<const Gpu*> without;
  const auto gpus = facts.of("nvidia");
  for (const Gpu* gpu : gpus)
    if (!gpu->capability.empty() && !releases::runs_on(torch->archs, gpu->capability))
      without.push_back(gpu);
  if (without.empty()) return std::nullopt;
  Diagnosis diagnosis{
      "arch-not-built",
      fmt::format("torch {} has no kernels for {} (compute capability {}), only for {}",
                  torch->version, without.front()->name, without.front()->capability,
                  fmt::join(torch->archs, " ")),
      "install a torch that is built for this GPU", kBuild};
  if (without.size() < gpus.size()) {
    diagnosis.blocks = false;
    diagnosis.remedy =
        "leave this GPU out with CUDA_VISIBLE_DEVICES, or install a torch that is built for all "
        "GPUs";
  }
  return diagnosis;
}

std::optional<Diagnosis> jetson(const Facts& facts) {
  const Torch* torch = facts.torch();
  const bool tegra =
      std::find(facts.modules.begin(), facts.modules.end(), "nvgpu") != facts.modules.end();
  if (!tegra || torch == nullptr || !torch->cuda.empty()) return std::nullopt;
  return Diagnosis{
      "jetson-build",
      fmt::format("this is a Jetson, and torch {} from PyPI is a build for the CPU",
                  torch->version),
      "install NVIDIA's own wheel for this JetPack (developer.nvidia.com, PyTorch for Jetson)",
      kBuild};
}

std::optional<Diagnosis> mig(const Facts& facts) {
  const auto gpus = facts.of("nvidia");
  const bool split = std::any_of(gpus.begin(), gpus.end(), [](const Gpu* gpu) { return gpu->mig; });
  if (!split) return std::nullopt;
  return Diagnosis{"mig",
                   "the GPU is split into instances (MIG), and a process sees only one of them",
                   "name the instance: CUDA_VISIBLE_DEVICES=MIG-...; nvidia-smi -L lists them",
                   kHardware, false};
}

const CauseRegistration kBound(&other_driver_bound);
const CauseRegistration kNoDriver(&no_driver);
const CauseRegistration kMismatch(&mismatch);
const CauseRegistration kContainerWithout(&container_without_runtime);
const CauseRegistration kNoLibcuda(&no_libcuda);
const CauseRegistration kNoPermission(&no_permission);
const CauseRegistration kNoNodes(&no_nodes);
const CauseRegistration kWsl(&wsl);
const CauseRegistration kStub(&stub);
const CauseRegistration kHidden(&hidden);
const CauseRegistration kTooOld(&too_old);
const CauseRegistration kArch(&arch_missing);
const CauseRegistration kJetson(&jetson);
const CauseRegistration kMig(&mig);

}  // namespace

}  // namespace torchport::host
