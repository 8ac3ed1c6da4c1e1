// Tests what every description of a kind has to satisfy, whichever kinds there are.
#include "devices/device_kind.h"

#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace torchport::devices {
namespace {

TEST_CASE("each kind says all that is asked of it") {
  std::set<std::string_view> names;
  std::set<int> preferences;
  for (const DeviceKind& kind : kinds()) {
    CAPTURE(kind.name);
    CHECK(names.insert(kind.name).second);
    CHECK(preferences.insert(kind.preference).second);
    CHECK_FALSE(kind.backend.empty());
    CHECK(kind.out_of_tree == (kind.backend == "PrivateUse1"));
    CHECK((kind.checked_as == "CUDA" || kind.checked_as == "MPS"));
    CHECK(kind.host.device_files.empty() != kind.host.system.empty());
    CHECK(kind.host.version_member.empty() == kind.host.vendor.empty());
    REQUIRE_FALSE(kind.profiles.empty());
    for (const Profile& profile : kind.profiles) {
      CHECK(find_profile(kind, profile.name) == &profile);
      CHECK(profile.memory > kGiB);
      CHECK_FALSE(profile.device_name.empty());
    }
    REQUIRE((kind.out_of_memory != nullptr));
    const std::string text = kind.out_of_memory({3 * kMiB, 2 * kGiB, kMiB, kGiB, kGiB, {}}, 5);
    CHECK(text.find("3.00 MiB") != std::string::npos);
    CHECK(text.find("out of memory") != std::string::npos);
    REQUIRE((kind.invalid_device != nullptr));
    CHECK_FALSE(kind.invalid_device(7, 2).empty());
    CHECK((kind.failed_assertion == nullptr) == (kind.failed_assertion_code == 0));
    CHECK(find_kind(kind.name) == &kind);
    CHECK(is_device_type(kind.name));
  }
}

TEST_CASE("CUDA is preferred, and the order is that of the preferences") {
  CHECK(kinds().front().name == "cuda");
  for (std::size_t i = 1; i < kinds().size(); ++i)
    CHECK(kinds()[i - 1].preference < kinds()[i].preference);
}

TEST_CASE("words that start a device string") {
  for (const char* word : {"cpu", "meta", "hpu", "cuda"}) CHECK(is_device_type(word));
  for (const char* word : {"", "gpu", "Cuda", "none"}) CHECK_FALSE(is_device_type(word));
  CHECK(find_kind("cpu") == nullptr);
}

TEST_CASE("Python's table has every kind with the members that it reads") {
  const auto table = nlohmann::json::parse(kinds_as_json());
  REQUIRE(table.size() == kinds().size());
  for (std::size_t i = 0; i < kinds().size(); ++i) {
    CHECK(table[i].at("name") == kinds()[i].name);
    CHECK(table[i].at("profiles").size() == kinds()[i].profiles.size());
    CHECK(table[i].size() == 9);
  }
}

}  // namespace
}  // namespace torchport::devices
