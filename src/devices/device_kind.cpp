#include "devices/device_kind.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "devices/profile_tables.h"

namespace torchport::devices {

// CMake makes this from the names of the files in kinds/: TORCHPORT_KIND(cuda) for each.
#define TORCHPORT_KIND(name) TORCHPORT_DEVICE_KIND(name);
#include "device_kinds.inc"
#undef TORCHPORT_KIND

const std::vector<DeviceKind>& kinds() {
  // Never destroyed: the virtual devices outlive every static object.
  static const auto* const kKinds = [] {
    auto* all = new std::vector<DeviceKind>{
#define TORCHPORT_KIND(name) device_kind_##name(),
#include "device_kinds.inc"
#undef TORCHPORT_KIND
    };
    for (DeviceKind& kind : *all) kind.profiles = built_in_profiles(kind.name);
    std::sort(all->begin(), all->end(),
              [](const DeviceKind& a, const DeviceKind& b) { return a.preference < b.preference; });
    return all;
  }();
  return *kKinds;
}

const DeviceKind* find_kind(std::string_view name) {
  const auto found = std::find_if(kinds().begin(), kinds().end(),
                                  [&](const DeviceKind& kind) { return kind.name == name; });
  return found == kinds().end() ? nullptr : &*found;
}

const Profile* find_profile(const DeviceKind& kind, std::string_view name) {
  const auto found = std::find_if(kind.profiles.begin(), kind.profiles.end(),
                                  [&](const Profile& profile) { return profile.name == name; });
  return found == kind.profiles.end() ? nullptr : &*found;
}

std::string kind_names(std::string_view separator) {
  std::vector<std::string_view> names;
  for (const DeviceKind& kind : kinds()) names.push_back(kind.name);
  return fmt::format("{}", fmt::join(names, separator));
}

bool is_device_type(std::string_view word) {
  // Names that programs use, of c10::DeviceTypeName() in torch 2.13 and of backends that rename
  // PrivateUse1 ("mlu", "musa"). A name stays here when it becomes a kind, so that no list changes.
  static constexpr std::array<std::string_view, 10> kOthers{"cpu",    "meta", "hip", "hpu", "xla",
                                                            "vulkan", "mtia", "ipu", "mlu", "musa"};
  return find_kind(word) != nullptr ||
         std::find(kOthers.begin(), kOthers.end(), word) != kOthers.end();
}

std::string kinds_as_json() {
  auto all = nlohmann::ordered_json::array();
  for (const DeviceKind& kind : kinds()) {
    auto profiles = nlohmann::ordered_json::array();
    for (const Profile& profile : kind.profiles) profiles.push_back(profile.name);
    all.push_back({{"name", kind.name},
                   {"device_type", kind.device_type},
                   {"several", kind.several},
                   {"has_streams", kind.has_streams},
                   {"out_of_tree", kind.out_of_tree},
                   {"visibility_variable", kind.visibility_variable},
                   {"system", kind.host.system},
                   {"device_files", kind.host.device_files},
                   {"profiles", std::move(profiles)}});
  }
  return all.dump(1);
}

}  // namespace torchport::devices
