#include "host/facts/facts.h"

#include <utility>

#include "devices/device_kind.h"

namespace torchport::host {

namespace {

// Has a member of its own, because many causes read it.
constexpr std::string_view kCuda = "cuda";

}  // namespace

std::string Torch::version_of(std::string_view member) const {
  if (member == kCuda) return cuda;
  const auto found = other_versions.find(std::string(member));
  return found == other_versions.end() ? std::string() : found->second;
}

void Torch::set_version(std::string_view member, std::string value) {
  if (member == kCuda)
    cuda = std::move(value);
  else if (value.empty())
    other_versions.erase(std::string(member));
  else
    other_versions[std::string(member)] = std::move(value);
}

const devices::DeviceKind* Torch::kind() const {
  for (const devices::DeviceKind& kind : devices::kinds())
    if (!version_of(kind.host.version_member).empty()) return &kind;
  return nullptr;
}

std::vector<std::string> other_version_members() {
  std::vector<std::string> names;
  for (const devices::DeviceKind& kind : devices::kinds()) {
    const std::string_view name = kind.host.version_member;
    if (!name.empty() && name != kCuda) names.emplace_back(name);
  }
  return names;
}

}  // namespace torchport::host
