// Reads the variables that hide and reorder devices, such as CUDA_VISIBLE_DEVICES, by the rules of
// the CUDA driver: CUDA C++ Programming Guide, "CUDA Environment Variables", and
// _parse_visible_devices() of torch/cuda/__init__.py, which says what the guide leaves open.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace torchport::devices {

// A device as a variable names it.
struct NamedDevice {
  int number = -1;     // the driver's; -1 if the device is named by its UUID
  std::string uuid{};  // "GPU-..." or "MIG-...", which may be only the beginning of a GPU's UUID

  [[nodiscard]] bool operator==(const NamedDevice&) const = default;
};

constexpr int kUnknownCount = std::numeric_limits<int>::max();

// The devices that the text of a variable names, in its order. The first entry decides whether all
// are numbers, UUIDs of GPUs or UUIDs of MIG instances. The first entry that is none of `count`
// devices ends the list ("-1" names no device), and a repeated one leaves none. Thread safe.
[[nodiscard]] std::vector<NamedDevice> named_devices(std::string_view text,
                                                     int count = kUnknownCount);

// The numbers of the devices that a variable leaves of `count`; null if it is not set, which leaves
// all. `uuids` are those of the devices by number ("GPU-..."); an entry may be the beginning of
// one, if it is that of no other. Without them an entry with a UUID names none. Thread safe.
[[nodiscard]] std::vector<int> visible_numbers(const char* text, int count,
                                               const std::vector<std::string>& uuids = {});

}  // namespace torchport::devices
