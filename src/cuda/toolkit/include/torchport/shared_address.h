// Addresses of shared memory in 32 bits, as PTX has them. Shared variables of a block lie where the
// host's linker and allocator put them, so the upper half of an address is kept beside: one entry
// for each part of the 4 GiB that 32 bits reach, written where a pointer becomes such an address.
#pragma once

#include <initializer_list>

#include "bits.h"

namespace torchport {

constexpr unsigned kSharedPartBits = 20;
struct SharedParts {
  unsigned upper[1u << (32 - kSharedPartBits)];
};
inline thread_local SharedParts shared_parts{};

inline unsigned shared_address(const volatile void* pointer) {
  // Half of an address is none for the compiler: it has to know that others will reach what lies
  // there.
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  const unsigned long long p = reinterpret_cast<unsigned long long>(pointer);
  // Programs add to an address, so the next part is known as well.
  for (unsigned long long at : {p, p + (1ull << kSharedPartBits)})
    shared_parts.upper[(at & 0xffffffffu) >> kSharedPartBits] = static_cast<unsigned>(at >> 32);
  return static_cast<unsigned>(p);
}

inline char* shared_pointer(unsigned long long address) {
  const unsigned low = static_cast<unsigned>(address);
  const unsigned long long upper = shared_parts.upper[low >> kSharedPartBits];
  char* pointer = reinterpret_cast<char*>(upper << 32 | low);
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

}  // namespace torchport

TORCHPORT_CC size_t __cvta_generic_to_shared(const void* pointer) {
  return torchport::shared_address(pointer);
}
TORCHPORT_CC void* __cvta_shared_to_generic(size_t address) {
  return torchport::shared_pointer(address);
}
// Other memory has one address in every space.
#define TORCHPORT_SPACE(NAME)                                         \
  TORCHPORT_CC size_t __cvta_generic_to_##NAME(const void* pointer) { \
    return reinterpret_cast<size_t>(pointer);                         \
  }                                                                   \
  TORCHPORT_CC void* __cvta_##NAME##_to_generic(size_t address) {     \
    return reinterpret_cast<void*>(address);                          \
  }
TORCHPORT_SPACE(global)
TORCHPORT_SPACE(constant)
TORCHPORT_SPACE(local)
TORCHPORT_SPACE(grid_constant)
#undef TORCHPORT_SPACE
