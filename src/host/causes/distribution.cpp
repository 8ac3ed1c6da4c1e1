#include "host/causes/distribution.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

struct DistributionName {
  std::string_view part;  // of /etc/os-release's PRETTY_NAME, in lower case
  Distribution distribution;
};

// Distributions that are made from another one have its packages.
constexpr std::array<DistributionName, 25> kDistributionNames{
    {{"ubuntu", Distribution::kUbuntu},        {"lmde", Distribution::kDebian},
     {"linux mint", Distribution::kUbuntu},    {"zorin", Distribution::kUbuntu},
     {"elementary os", Distribution::kUbuntu}, {"kde neon", Distribution::kUbuntu},
     {"tuxedo os", Distribution::kUbuntu},     {"pop!_os", Distribution::kUbuntu},
     {"debian", Distribution::kDebian},        {"proxmox", Distribution::kDebian},
     {"kali", Distribution::kDebian},          {"mx linux", Distribution::kDebian},
     {"fedora", Distribution::kFedora},        {"nobara", Distribution::kFedora},
     {"red hat", Distribution::kRedHat},       {"rhel", Distribution::kRedHat},
     {"rocky", Distribution::kRedHat},         {"alma", Distribution::kRedHat},
     {"centos", Distribution::kRedHat},        {"oracle linux", Distribution::kRedHat},
     {"amazon linux", Distribution::kRedHat},  {"arch linux", Distribution::kArch},
     {"manjaro", Distribution::kArch},         {"endeavour", Distribution::kArch},
     {"cachyos", Distribution::kArch}}};

}  // namespace

Distribution distribution_of(const Facts& facts) {
  const std::string name = base::lower(facts.release);
  const auto found = std::find_if(kDistributionNames.begin(), kDistributionNames.end(),
                                  [&](const DistributionName& spelling) {
                                    return name.find(spelling.part) != std::string::npos;
                                  });
  return found == kDistributionNames.end() ? Distribution::kOther : found->distribution;
}

int release_number(const Facts& facts) {
  for (const std::string_view word : base::split(facts.release, ' '))
    if (const auto numbers = versions::parse_version(word); !numbers.empty())
      return static_cast<int>(numbers.front());
  return 0;
}

}  // namespace torchport::host
