#include "scaffold/device_target.h"

#include <algorithm>
#include <utility>

namespace torchport::scaffold {

namespace {

std::vector<DeviceTarget>& mutable_targets() {
  static std::vector<DeviceTarget> targets;
  return targets;
}

bool before(const DeviceTarget& a, const DeviceTarget& b) {
  return std::pair(a.order, a.name) < std::pair(b.order, b.name);
}

}  // namespace

DeviceTargetRegistration::DeviceTargetRegistration(DeviceTarget target) {
  auto& targets = mutable_targets();
  const auto place = std::lower_bound(targets.begin(), targets.end(), target, before);
  targets.insert(place, std::move(target));
}

const std::vector<DeviceTarget>& device_targets() {
  return mutable_targets();
}

const DeviceTarget* find_device_target(std::string_view name) {
  const auto& targets = device_targets();
  const auto found = std::find_if(targets.begin(), targets.end(),
                                  [&](const DeviceTarget& target) { return target.name == name; });
  return found == targets.end() ? nullptr : &*found;
}

}  // namespace torchport::scaffold
