// Holds the figures in the message of an allocator that has run out of device memory. It is apart
// from the memory model, so that kinds can write the message without it.
#pragma once

#include <cstdint>
#include <optional>

namespace torchport::devices {

struct OutOfMemory {
  std::uint64_t requested = 0;  // bytes, rounded as in the real message
  std::uint64_t total = 0;
  std::uint64_t free = 0;  // of the device
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;
  std::optional<std::uint64_t> allowed;  // the bound of set_fraction(), if set
  std::uint64_t in_private_pools = 0;    // free there, so that nobody else can have it
};

}  // namespace torchport::devices
