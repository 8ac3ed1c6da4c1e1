#include "runtime/device/spec.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/nearest.h"
#include "base/text.h"
#include "devices/profiles/profile_file.h"

namespace torchport::device {

namespace {

constexpr std::size_t kMostNames = 8;  // in a message

base::Result<Spec> usage(std::string message) {
  return base::fail(base::ErrorCode::kUsage, std::move(message));
}

// Replaces one text by another, from left to right.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// In a spec, commas part options: a path of a profile has "%2C" for one.
std::string path_of(std::string_view text) {
  return replaced(replaced(std::string(text), "%2C", ","), "%25", "%");
}

std::string text_of(std::string_view path) {
  return replaced(replaced(std::string(path), "%", "%25"), ",", "%2C");
}

// A name of a built-in profile, or the path of a user's own.
base::Result<const devices::Profile*> profile_of(const devices::DeviceKind& kind,
                                                 std::string_view value) {
  if (devices::is_profile_path(value)) {
    auto own = devices::own_profile(path_of(value), kind.name);
    if (own) return own;
    const base::Error& error = own.error();
    return base::fail(base::ErrorCode::kUsage,
                      error.line == 0
                          ? fmt::format("{}: {}", error.path, error.message)
                          : fmt::format("{}:{}: {}", error.path, error.line, error.message));
  }
  if (const devices::Profile* found = devices::find_profile(kind, value)) return found;
  std::vector<std::string_view> names;
  for (const devices::Profile& profile : kind.profiles) names.push_back(profile.name);
  const std::string guess = base::did_you_mean(value, names);
  const std::string all =
      names.size() > kMostNames
          ? "`torchport devices --profiles` lists them; a file needs a slash or the ending .toml"
          : fmt::format("the profiles are {}", fmt::join(names, ", "));
  return base::fail(base::ErrorCode::kUsage,
                    fmt::format("`{}` is not a profile of kind {}{}{}", value, kind.name,
                                guess.empty() ? "; " : guess + " ", all));
}

// The random numbers of other kinds' real devices are not known here.
RandomNumbers default_random(const devices::DeviceKind* kind) {
  return kind != nullptr && kind->name == "cuda" ? RandomNumbers::kDevice : RandomNumbers::kCpu;
}

// "cuda:4", "mps", "none".
base::Result<Spec> parse_devices(std::string_view text) {
  Spec spec;
  const auto colon = text.find(':');
  spec.kind = std::string(text.substr(0, colon));
  if (spec.kind == "none") {
    spec.count = 0;
    return colon == std::string_view::npos ? base::Result<Spec>(spec)
                                           : usage("`none` does not take a number of devices");
  }
  spec.description = devices::find_kind(spec.kind);
  if (spec.description == nullptr)
    return usage(fmt::format("`{}` is not a device kind; the kinds are {} and none", spec.kind,
                             devices::kind_names()));
  spec.profile = &spec.description->profiles.front();
  spec.random = default_random(spec.description);
  if (colon == std::string_view::npos) return spec;
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), spec.count);
  if (error != std::errc() || end != digits.data() + digits.size() || spec.count < 1 ||
      spec.count > kMaxDevices)
    return usage(fmt::format("`{}`: the number of devices must be 1 to {}", text, kMaxDevices));
  if (!spec.description->several && spec.count > 1)
    return usage(fmt::format("{} has only one device", spec.kind));
  return spec;
}

base::Result<RandomNumbers> parse_random(std::string_view value, const Spec& spec) {
  if (value == "cpu") return RandomNumbers::kCpu;
  if (value != "device")
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("`random={}`: random numbers are those of `device` or `cpu`", value));
  if (default_random(spec.description) != RandomNumbers::kDevice)
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("`random=device`: kind {} draws the CPU's random numbers", spec.kind));
  return RandomNumbers::kDevice;
}

}  // namespace

std::string Spec::text() const {
  if (kind == "none") return kind;
  const bool differs = random != default_random(description);
  return fmt::format("{}:{},memory={},profile={}{}{}", kind, count, memory,
                     profile->file.empty() ? std::string(profile->name) : text_of(profile->file),
                     differs ? ",random=cpu" : "", data ? fmt::format(",data={}", *data) : "");
}

base::Result<Spec> parse_spec(std::string_view text) {
  const auto parts = base::split(text, ',');
  auto spec = parse_devices(base::trim(parts.front()));
  if (!spec) return spec;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = base::trim(parts[i]);
    const auto equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
    if (key == "memory") {
      const auto bytes = base::parse_size(value);
      if (!bytes) return tl::unexpected<base::Error>(bytes.error());
      spec->memory = *bytes;
    } else if (key == "profile") {
      if (spec->description == nullptr) return usage("`none` does not take a profile");
      const auto profile = profile_of(*spec->description, value);
      if (!profile) return tl::unexpected<base::Error>(profile.error());
      spec->profile = *profile;
    } else if (key == "random") {
      const auto random = parse_random(value, *spec);
      if (!random) return tl::unexpected<base::Error>(random.error());
      spec->random = *random;
    } else if (key == "data") {
      const auto bytes = value == "0" ? base::Result<std::uint64_t>(0) : base::parse_size(value);
      if (!bytes) return tl::unexpected<base::Error>(bytes.error());
      spec->data = *bytes;
    } else {
      return usage(
          fmt::format("`{}` is not an option; only memory=SIZE, profile=NAME, random=device|cpu "
                      "and data=SIZE can follow the devices",
                      part));
    }
  }
  if (spec->memory == 0 && spec->profile != nullptr) spec->memory = spec->profile->memory;
  return spec;
}

// RFC 9562, version 8: the bits are the maker's choice.
std::string uuid_of(const Spec& spec, int number) {
  const std::string name = fmt::format(
      "torchport:{}:{}", spec.profile == nullptr ? spec.kind : spec.profile->name, number);
  const XXH128_hash_t hash = XXH3_128bits(name.data(), name.size());
  return fmt::format("GPU-{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", hash.high64 >> 32U,
                     hash.high64 >> 16U & 0xffffU, hash.high64 & 0xfffU,
                     0x8000U | (hash.low64 >> 48U & 0x3fffU), hash.low64 & 0xffff'ffff'ffffU);
}

}  // namespace torchport::device
