// Why an allocation on a device failed: the figures that the message of its allocator holds.
#pragma once

#include <cstdint>
#include <optional>

namespace torchport::devices {

struct OutOfMemory {
  std::uint64_t requested = 0;  // bytes, rounded as the real message has it
  std::uint64_t total = 0;
  std::uint64_t free = 0;  // of the device
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;
  std::optional<std::uint64_t> allowed;  // where set_fraction() bounds it
};

}  // namespace torchport::devices
