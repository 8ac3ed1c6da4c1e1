#include "devices/profiles/profile_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "base/temporary_folder.h"

namespace torchport::devices {
namespace {

constexpr std::string_view kCard = R"(kind = "cuda"
name = "my-card"
device-name = "NVIDIA My Card"
capability = "8.9"
memory = "23 GiB"
multiprocessors = 100
clock-mhz = 2500
memory-clock-mhz = 10501
memory-bus-bits = 384
[peak]
fp16 = 330.5
[sources]
device = "mine"
)";

// kCard with one text replaced by another.
std::string card_with(std::string_view from, std::string_view to) {
  std::string text(kCard);
  const auto at = text.find(from);
  REQUIRE((at != std::string::npos));
  return text.replace(at, from.size(), to);
}

base::Error error_of(std::string_view text) {
  auto file = parse_profile(text, "card.toml");
  REQUIRE_FALSE(file.has_value());
  CHECK(file.error().code == base::ErrorCode::kConfig);
  CHECK(file.error().path == "card.toml");
  return file.error();
}

TEST_CASE("a file has the figures of a device; the limits follow from the capability") {
  const auto file = parse_profile(kCard, "card.toml");
  REQUIRE(file.has_value());
  const Profile& profile = (*file)->profile;
  CHECK((*file)->kind == "cuda");
  CHECK(profile.name == "my-card");
  CHECK(profile.device_name == "NVIDIA My Card");
  CHECK(profile.memory == 23 * kGiB);
  CHECK(profile.major == 8);
  CHECK(profile.minor == 9);
  CHECK(profile.clock_khz == 2'500'000);
  CHECK(profile.max_threads_per_multiprocessor == 1536);
  CHECK(profile.shared_memory_per_block_optin == 99 * kKiB);
  CHECK(profile.peak.fp16 == 330.5);
  CHECK(profile.peak.fp8 == 0);
  CHECK(profile.memory_bandwidth == doctest::Approx(1008.1).epsilon(0.001));
  CHECK(profile.source == "mine");
}

TEST_CASE("limits and bandwidths can be named, and a size can be a number of bytes") {
  const auto file = parse_profile(card_with("[sources]",
                                            "[limits]\nmax-threads-per-multiprocessor = 64\n"
                                            "[bandwidth]\nmemory = 7.5\n[sources]"),
                                  "card.toml");
  REQUIRE(file.has_value());
  CHECK((*file)->profile.max_threads_per_multiprocessor == 64);
  CHECK((*file)->profile.memory_bandwidth == 7.5);
  CHECK((*parse_profile(card_with("\"23 GiB\"", "1073741824"), "x"))->profile.memory == kGiB);
}

TEST_CASE("an error names the file, the line and the key") {
  const base::Error unknown = error_of(card_with("memory-bus-bits", "memory-bus-bit"));
  CHECK(unknown.line == 9);
  CHECK(unknown.message == R"(unknown key "memory-bus-bit"; did you mean "memory-bus-bits"?)");
  const base::Error inner = error_of(card_with("fp16 = 330.5", "fp61 = 330.5"));
  CHECK(inner.line == 11);
  CHECK(inner.message.find("\"peak.fp61\"") != std::string::npos);
  const base::Error missing = error_of(card_with("memory = \"23 GiB\"\n", ""));
  CHECK(missing.message == R"("memory" is missing; write e.g. memory = "24 GiB")");
  CHECK(error_of(card_with("capability = \"8.9\"\n", "")).message.find("\"capability\"") == 0);
  const base::Error type = error_of(card_with("multiprocessors = 100", "multiprocessors = \"9\""));
  CHECK(type.line == 6);
  CHECK(type.message.find("\"multiprocessors\" must be a whole number") == 0);
}

TEST_CASE("what is no profile is refused") {
  for (const std::string& text :
       {std::string(),
        std::string("\0\1\2", 3),
        std::string(1 << 20, 'x'),
        std::string("[[[a]]]"),
        std::string("[="),
        std::string("kind = \"cuda\""),
        std::string("a = 1"),
        card_with("\"8.9\"", "\"8\""),
        card_with("\"8.9\"", "\"99.9\""),
        card_with("\"8.9\"", "8.9"),
        card_with("\"8.9\"", "\"-8.9\""),
        card_with("\"8.9\"", "\"999999999999.1\""),
        card_with("\"23 GiB\"", "-1"),
        card_with("\"23 GiB\"", "0"),
        card_with("\"23 GiB\"", "\"23\""),
        card_with("\"23 GiB\"", "\"23 apples\""),
        card_with("\"23 GiB\"", "\"9999 TiB\""),
        card_with("\"23 GiB\"", "true"),
        card_with("= 100", "= 0"),
        card_with("= 100", "= -3"),
        card_with("= 100", "= 99999999999"),
        card_with("= 2500", "= nan"),
        card_with("= 2500", "= inf"),
        card_with("= 2500", "= -1"),
        card_with("= 2500", "= 0"),
        card_with("330.5", "1e300"),
        card_with("330.5", "\"fast\""),
        card_with("[peak]\nfp16 = 330.5", "peak = 3"),
        card_with("my-card", "My Card"),
        card_with("my-card", ""),
        card_with("\"NVIDIA My Card\"", "\"a\\nb\""),
        card_with("\"NVIDIA My Card\"", "'" + std::string(1000, 'n') + "'"),
        card_with("kind = \"cuda\"\n", "kind = \"cuda\"\nkind = \"xpu\"\n")}) {
    CAPTURE(text.substr(0, 300));
    CHECK(error_of(text).message.size() > 10);
  }
}

TEST_CASE("a path is what has a slash or ends in .toml") {
  for (const char* text : {"./x", "/a/b", "card.toml", "a/b.toml"}) CHECK(is_profile_path(text));
  for (const char* text : {"", "t4", "h100-80g", "toml"}) CHECK_FALSE(is_profile_path(text));
}

TEST_CASE("a profile of one's own is read once, and only for its kind") {
  const auto folder = base::TemporaryFolder::make("torchport-profiles");
  REQUIRE(folder.has_value());
  const std::string path = folder->file("card.toml");
  std::ofstream(path) << kCard;
  const auto first = own_profile(path, "cuda");
  REQUIRE(first.has_value());
  CHECK((*first)->file == path);
  CHECK((*first)->name == "my-card");
  std::ofstream(path) << "no profile any more";
  const auto second = own_profile(path, "cuda");
  REQUIRE(second.has_value());
  CHECK(*second == *first);
  const auto other = own_profile(path, "xpu");
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().message.find("kind cuda") != std::string::npos);
  CHECK(own_profile(folder->file("missing.toml"), "cuda").error().code == base::ErrorCode::kIo);
  CHECK_FALSE(own_profile(folder->path(), "cuda").has_value());
}

}  // namespace
}  // namespace torchport::devices
