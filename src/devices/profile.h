// Holds the figures that a real accelerator reports about itself. A virtual device answers with
// them: its memory bounds what a program may allocate, and programs choose their kernels by its
// capability. Beside them are the rates of its data sheet, by which a time can be estimated.
//
// A profile is a file in profiles/KIND/, which the build makes a constant; a user's own is the same
// kind of file, read when it is asked for (profile_file.h). Each figure has its source there.
#pragma once

#include <cstdint>
#include <string_view>

namespace torchport::devices {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

// Who reported the memory of a profile.
enum class MemoryReport : std::uint8_t {
  kRuntime,  // the accelerator's runtime, as in get_device_properties().total_memory
  kDriver,   // the driver's tool (nvidia-smi), whose total is a few per cent above the runtime's
  kNominal,  // nobody: it is the size that the maker names, and real devices have a little less
};

// The highest rates of multiplying dense matrices and of arithmetic, in 10^12 operations a second
// where a multiplication and an addition are two. Products of short types add in float32, as torch
// asks for; where a maker's figure is for adding in float16, it is not used. 0 is unknown, or that
// the device has no such unit.
struct PeakRates {
  double fp16 = 0;
  double bf16 = 0;
  double tf32 = 0;
  double fp8 = 0;
  double fp4 = 0;
  double int8 = 0;
  double fp32 = 0;  // outside of units for matrices
  double fp64 = 0;  // outside of units for matrices
};

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

  MemoryReport memory_report = MemoryReport::kRuntime;
  std::uint64_t nominal_memory = 0;  // bytes, as it is sold: "80 GB" are 80 GiB; 0 is unknown
  PeakRates peak{};
  // 10^9 bytes a second; 0 is unknown.
  double memory_bandwidth = 0;
  double nvlink_bandwidth = 0;  // of all links, the sum of both directions
  double pcie_bandwidth = 0;    // the sum of both directions
  // Where the figures are from: those of the device, the peaks, and the bandwidths. For readers.
  std::string_view source{};
  std::string_view peak_source{};
  std::string_view bandwidth_source{};
  std::string_view file{};  // the absolute path of a user's own profile; "" for a built-in one
};

}  // namespace torchport::devices
