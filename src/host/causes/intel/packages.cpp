#include "host/causes/intel/packages.h"

#include <fmt/format.h>

#include "host/causes/distribution.h"
#include "host/causes/queries.h"

namespace torchport::host::intel {

namespace {

constexpr std::string_view kGuide = "https://dgpu-docs.intel.com/driver/client/overview.html";
// The first Debian with libze-intel-gpu1.
constexpr int kFirstDebian = 13;

}  // namespace

std::string install_level_zero(const Facts& facts) {
  const bool image = in_container(facts);
  const std::string run = image ? "in the image: RUN " : "sudo ";
  std::string apt = run + (image ? "apt-get update && apt-get install -y" : "apt install");
  apt += " libze1 libze-intel-gpu1";
  switch (distribution_of(facts)) {
    case Distribution::kUbuntu:
      return fmt::format("{} (if apt does not find the second: {})", apt, kGuide);
    case Distribution::kDebian:
      if (const int number = release_number(facts); number == 0 || number >= kFirstDebian)
        return apt;
      return fmt::format(
          "Debian has Intel's driver for Level Zero from {} on; its packages for older ones: "
          "https://github.com/intel/compute-runtime/releases",
          kFirstDebian);
    case Distribution::kFedora:
      return run + "dnf install oneapi-level-zero intel-level-zero";
    case Distribution::kArch:
      return run + "pacman -S level-zero-loader intel-compute-runtime";
    default:
      return fmt::format("install it{}: {}", image ? " in the image" : "", kGuide);
  }
}

}  // namespace torchport::host::intel
