#include "host/causes/nvidia/packages.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "host/causes/distribution.h"
#include "host/causes/queries.h"

namespace torchport::host::nvidia {

namespace {

constexpr std::string_view kGuide =
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/";

bool has_blackwell(const Facts& facts) {
  const auto cards = facts.of("nvidia");
  return std::any_of(cards.begin(), cards.end(), [](const Gpu* gpu) { return is_blackwell(*gpu); });
}

std::string install_open_driver(const Facts& facts) {
  const std::string why = "this card needs the open kernel module, 570 or newer";
  switch (distribution_of(facts)) {
    case Distribution::kUbuntu:
      return fmt::format(
          "sudo ubuntu-drivers install ({}: if another one was installed, sudo apt install "
          "nvidia-driver-580-open)",
          why);
    case Distribution::kDebian:
      return fmt::format("sudo apt install nvidia-open, from NVIDIA's repository ({}: {})", why,
                         kGuide);
    case Distribution::kFedora:
    case Distribution::kRedHat:
      return fmt::format("sudo dnf install nvidia-open, from NVIDIA's repository ({}: {})", why,
                         kGuide);
    case Distribution::kArch:
      return fmt::format("sudo pacman -S nvidia-open ({})", why);
    case Distribution::kOther:
      break;
  }
  return fmt::format("{} ({})", kGuide, why);
}

}  // namespace

// By PCI id.
bool is_blackwell(const Gpu& gpu) {
  static constexpr std::array<std::string_view, 6> kIds{"10de:29", "10de:2b", "10de:2c",
                                                        "10de:2d", "10de:2f", "10de:31"};
  const std::string id = base::lower(gpu.id);
  return std::any_of(kIds.begin(), kIds.end(),
                     [&](std::string_view begin) { return id.starts_with(begin); });
}

std::string install_driver(const Facts& facts) {
  // The distribution of a container is that of its image.
  if (in_container(facts)) return fmt::format("on the host: {}", kGuide);
  if (has_blackwell(facts)) return install_open_driver(facts);
  switch (distribution_of(facts)) {
    case Distribution::kUbuntu:
      return "sudo ubuntu-drivers install";
    case Distribution::kDebian:
      return "sudo apt install nvidia-driver, with the component non-free in the sources of apt";
    case Distribution::kFedora:
      return "sudo dnf install akmod-nvidia, from RPM Fusion: https://rpmfusion.org/Howto/NVIDIA";
    case Distribution::kRedHat:
      return fmt::format("sudo dnf install cuda-drivers, from NVIDIA's repository: {}", kGuide);
    case Distribution::kArch:
      return "sudo pacman -S nvidia-open; for cards before Turing a package of the AUR: "
             "https://wiki.archlinux.org/title/NVIDIA";
    case Distribution::kOther:
      break;
  }
  return std::string(kGuide);
}

std::string install_libraries(const Facts& facts) {
  const std::string& version = facts.nvidia.module;
  switch (distribution_of(facts)) {
    case Distribution::kUbuntu:
      return fmt::format("sudo apt install libnvidia-compute-{}",
                         version.substr(0, version.find('.')));
    case Distribution::kDebian:
      return fmt::format("sudo apt install libcuda1={}*", version);
    default:
      return std::string(kGuide);
  }
}

}  // namespace torchport::host::nvidia
