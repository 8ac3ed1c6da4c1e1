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
  const std::string_view root = image ? "" : "sudo ";
  std::string apt = image ? "in the image: RUN apt-get update && apt-get install -y libze1 "
                            "libze-intel-gpu1"
                          : "sudo apt install libze1 libze-intel-gpu1";
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
      return fmt::format("{}{}dnf install oneapi-level-zero intel-level-zero",
                         image ? "in the image: RUN " : "", root);
    case Distribution::kArch:
      return fmt::format("{}{}pacman -S level-zero-loader intel-compute-runtime",
                         image ? "in the image: RUN " : "", root);
    default:
      return fmt::format("install it{}: {}", image ? " in the image" : "", kGuide);
  }
}

}  // namespace torchport::host::intel
