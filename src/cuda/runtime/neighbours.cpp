// What is said of an address that a kernel must not use: which memory is beside it.
#include <fmt/format.h>

#include "cuda/device/faults.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/state.h"

namespace torchport::cuda {

namespace {

std::string neighbour_name(const Range& range) {
  if (range.name != nullptr && *range.name != '\0')
    return fmt::format("the variable {} of {} bytes", range.name, range.bytes);
  return fmt::format("memory of {} bytes at {}", range.bytes, fmt::ptr(range.begin));
}

std::string beside(const void* address) {
  const auto* at = static_cast<const char*>(address);
  constexpr std::uintptr_t kNearNull = 65536;
  if (reinterpret_cast<std::uintptr_t>(at) < kNearNull) return "a null pointer";
  if (const auto freed = freed_range_of(address))
    return fmt::format("byte {} of {} that was freed", at - freed->begin, neighbour_name(*freed));
  for (int i = 0; i < count_of_devices(); ++i) {
    if (!memory_of(i).has(address)) continue;
    const auto before = range_before(address);
    if (!before || before->device != i || !memory_of(i).has(before->begin))
      return "it is memory of the device that was freed, or never allocated";
    return fmt::format("{} bytes behind the end of {}", at - (before->begin + before->bytes),
                       neighbour_name(*before));
  }
  return {};
}

const bool kTold = [] {
  describe_addresses_by(&beside);
  return true;
}();

}  // namespace

}  // namespace torchport::cuda
