// The limits of a multiprocessor of each compute capability of CUDA.
#pragma once

#include <cstdint>

namespace torchport::devices {

struct Limits {
  int major = 0;
  int minor = 0;
  int threads = 0;                           // resident in a multiprocessor
  int registers = 0;                         // of 32 bits
  std::uint64_t shared_per_block = 0;        // bytes, without asking for more
  std::uint64_t shared_per_block_optin = 0;  // bytes
  std::uint64_t shared_per_multiprocessor = 0;
};

// Null if the capability is not known here. Thread safe.
[[nodiscard]] const Limits* limits_of(int major, int minor);

}  // namespace torchport::devices
