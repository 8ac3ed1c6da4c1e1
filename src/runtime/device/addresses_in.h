// Addresses that memory holds: in the arguments of a kernel, and in tables that a kernel is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace torchport::device {

// Calls `use` with each aligned word that may be an address of a process in Linux.
template <class Use>
void each_address_in(const void* memory, std::size_t bytes, const Use& use) {
  constexpr std::uintptr_t kLowest = 65536;
  constexpr unsigned kBits = 47;
  const auto* at = static_cast<const char*>(memory);
  for (std::size_t i = 0; i + sizeof(std::uintptr_t) <= bytes; i += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, at + i, sizeof(word));
    if (word >= kLowest && word >> kBits == 0)
      use(reinterpret_cast<const void*>(word));  // NOLINT(performance-no-int-to-ptr)
  }
}

// How many bytes of a block are looked at for addresses.
inline constexpr std::size_t kTableOfAddresses = std::size_t{64} << 10U;

// Whether memory holds the address of a block for which `asks` is true. Blocks of devices begin at
// multiples of 512 bytes, and integers that a kernel is given hardly ever look like one.
template <class Asks>
bool holds_address(const void* memory, std::size_t bytes, const Asks& asks) {
  constexpr std::uintptr_t kUnit = 512;
  bool found = false;
  each_address_in(memory, bytes, [&](const void* address) {
    if (!found && reinterpret_cast<std::uintptr_t>(address) % kUnit == 0) found = asks(address);
  });
  return found;
}

}  // namespace torchport::device
