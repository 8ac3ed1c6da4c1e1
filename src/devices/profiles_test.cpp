// Tests what every built-in profile has to satisfy, whichever there are.
#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "devices/device_kind.h"
#include "devices/profiles/capabilities.h"

namespace torchport::devices {
namespace {

const Profile& cuda_profile(std::string_view name) {
  const Profile* found = find_profile(*find_kind("cuda"), name);
  REQUIRE((found != nullptr));
  return *found;
}

TEST_CASE("each profile has a name of its own, a source, and a memory near what it is sold with") {
  std::set<std::string_view> names;
  for (const DeviceKind& kind : kinds()) {
    for (const Profile& profile : kind.profiles) {
      CAPTURE(profile.name);
      CHECK(names.insert(profile.name).second);
      CHECK(profile.name.find_first_of("/, =") == std::string_view::npos);
      CHECK_FALSE(profile.source.empty());
      CHECK(profile.file.empty());
      CHECK(profile.multiprocessors > 0);
      CHECK(profile.clock_khz >= 500'000);
      CHECK(profile.clock_khz <= 3'000'000);
      REQUIRE(profile.nominal_memory > 0);
      const double part =
          static_cast<double>(profile.memory) / static_cast<double>(profile.nominal_memory);
      CHECK(part >= 0.5);
      CHECK(part <= 1.0);
      // Only the size that the maker names is a round one.
      if (profile.memory_report == MemoryReport::kNominal) CHECK(part == 1.0);
    }
  }
}

TEST_CASE("each CUDA device has a known capability, whose limits it has") {
  for (const Profile& profile : find_kind("cuda")->profiles) {
    CAPTURE(profile.name);
    const Limits* limits = limits_of(profile.major, profile.minor);
    REQUIRE((limits != nullptr));
    CHECK(profile.max_threads_per_multiprocessor == limits->threads);
    CHECK(profile.registers_per_multiprocessor == limits->registers);
    CHECK(profile.shared_memory_per_block_optin == limits->shared_per_block_optin);
    CHECK(profile.shared_memory_per_multiprocessor == limits->shared_per_multiprocessor);
    CHECK(profile.shared_memory_per_block <= profile.shared_memory_per_block_optin);
  }
}

TEST_CASE("rates are within what such devices have, and each has a source") {
  for (const DeviceKind& kind : kinds()) {
    for (const Profile& profile : kind.profiles) {
      CAPTURE(profile.name);
      CHECK(profile.memory_bandwidth >= 50);
      CHECK(profile.memory_bandwidth <= 10'000);
      CHECK_FALSE((profile.bandwidth_source.empty() && profile.memory_clock_khz == 0));
      const PeakRates& peak = profile.peak;
      const std::array all{peak.fp16, peak.bf16, peak.tf32, peak.fp8,
                           peak.fp4,  peak.int8, peak.fp32, peak.fp64};
      const bool any = std::any_of(all.begin(), all.end(), [](double rate) { return rate > 0; });
      CHECK(any != profile.peak_source.empty());
      for (const double rate : all) CHECK(rate <= 20'000);
      if (peak.bf16 > 0) CHECK(peak.bf16 == peak.fp16);
      if (peak.tf32 > 0) CHECK(peak.tf32 < peak.fp16);
      if (peak.fp8 > 0) CHECK(peak.fp8 > peak.fp16);
      if (peak.fp64 > 0) CHECK(peak.fp64 < peak.fp32);
    }
  }
}

// What torch.cuda.get_device_properties() is known to print on these.
TEST_CASE("figures of real devices") {
  CHECK(cuda_profile("h100-80g").memory == 81'079 * kMiB);
  CHECK(cuda_profile("h200").memory == 146'591'680 * kKiB);
  CHECK(cuda_profile("h200").memory_bus_bits == 6016);
  CHECK(cuda_profile("b200").l2_cache == 129'536 * kKiB);
  CHECK(cuda_profile("t4").multiprocessors == 40);
  CHECK(cuda_profile("v100-16g").memory == 16'151 * kMiB);
  CHECK(cuda_profile("gb10").minor == 1);
  CHECK(cuda_profile("a100-80g").memory_bandwidth == doctest::Approx(2039).epsilon(0.001));
  CHECK(cuda_profile("rtx-4090").memory_bandwidth == doctest::Approx(1008).epsilon(0.001));
}

// The whitepapers name the products of these; the other cards' follow by the same rule.
TEST_CASE("peaks of NVIDIA's whitepapers") {
  CHECK(cuda_profile("rtx-4090").peak.fp16 == doctest::Approx(165.2));
  CHECK(cuda_profile("rtx-4090").peak.fp8 == doctest::Approx(330.3));
  CHECK(cuda_profile("rtx-4090").peak.int8 == doctest::Approx(660.6));
  CHECK(cuda_profile("rtx-3090").peak.fp16 == doctest::Approx(71).epsilon(0.01));
  CHECK(cuda_profile("rtx-2080-ti").peak.fp16 == doctest::Approx(53.8));
  CHECK(cuda_profile("titan-rtx").peak.fp16 == doctest::Approx(130.5));
  CHECK(cuda_profile("rtx-5090").peak.int8 == doctest::Approx(838).epsilon(0.001));
}

TEST_CASE("there are the devices that people ask for") {
  CHECK(find_kind("cuda")->profiles.size() >= 60);
  CHECK(find_kind("cuda")->profiles.front().name == "a100-80g");
  for (const std::string_view name : {"agx-orin-64g", "rtx-4070-laptop", "h100-nvl", "l40s"})
    CHECK((find_profile(*find_kind("cuda"), name) != nullptr));
}

}  // namespace
}  // namespace torchport::devices
