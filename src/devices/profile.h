// Holds the figures that a real accelerator reports about itself. A virtual device answers with
// them: its memory bounds what a program may allocate, and programs choose their kernels by its
// capability.
#pragma once

#include <cstdint>
#include <string_view>

namespace torchport::devices {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

struct Profile {
  std::string_view name;         // "a100-80g": what `--profile` takes
  std::string_view device_name;  // the result of get_device_name()
  std::uint64_t memory = 0;      // bytes, as get_device_properties().total_memory
  int major = 0;                 // compute capability
  int minor = 0;
  int multiprocessors = 0;
  std::uint64_t l2_cache = 0;  // bytes
  int max_threads_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  std::uint64_t shared_memory_per_block = 0;           // bytes
  std::uint64_t shared_memory_per_block_optin = 0;     // bytes
  std::uint64_t shared_memory_per_multiprocessor = 0;  // bytes
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
};

}  // namespace torchport::devices
