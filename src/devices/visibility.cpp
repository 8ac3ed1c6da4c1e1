#include "devices/visibility.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "base/text.h"

namespace torchport::devices {

namespace {

// The prefix of a UUID; empty for a number.
std::string_view prefix_of(std::string_view entry) {
  static constexpr std::array<std::string_view, 2> kPrefixes{"GPU-", "MIG-"};
  for (const std::string_view prefix : kPrefixes) {
    if (entry.starts_with(prefix)) return prefix;
  }
  return {};
}

// As strtoul() reads it: "1gpu" is 1. -1 if it is no number.
int number_in(std::string_view entry) {
  if (entry.starts_with('+')) entry.remove_prefix(1);
  int number = -1;
  std::from_chars(entry.data(), entry.data() + entry.size(), number);
  return number;
}

// The number of the one device whose UUID begins so; -1 if none or several do.
int number_of(std::string_view beginning, const std::vector<std::string>& uuids) {
  int number = -1;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    if (!uuids[i].starts_with(beginning)) continue;
    if (number >= 0) return -1;
    number = static_cast<int>(i);
  }
  return number;
}

}  // namespace

std::vector<NamedDevice> named_devices(std::string_view text, int count) {
  std::vector<NamedDevice> named;
  const std::vector<std::string_view> entries = base::split(text, ',');
  const std::string_view prefix = prefix_of(base::trim(entries.front()));
  for (const std::string_view part : entries) {
    const std::string_view entry = base::trim(part);
    NamedDevice device;
    if (prefix.empty()) {
      device.number = number_in(entry);
      if (device.number < 0 || device.number >= count) break;
    } else {
      if (prefix_of(entry) != prefix) break;
      device.uuid = entry;
    }
    if (std::find(named.begin(), named.end(), device) != named.end()) return {};
    named.push_back(std::move(device));
  }
  return named;
}

std::vector<int> visible_numbers(const char* text, int count,
                                 const std::vector<std::string>& uuids) {
  std::vector<int> numbers;
  if (text == nullptr) {
    numbers.resize(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
  for (const NamedDevice& device : named_devices(text, count)) {
    const int number = device.number >= 0 ? device.number : number_of(device.uuid, uuids);
    if (number < 0) break;
    // Two abbreviations of one UUID.
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) return {};
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace torchport::devices
