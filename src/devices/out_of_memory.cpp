#include "devices/out_of_memory.h"

#include <fmt/format.h>

#include "devices/profile.h"

namespace torchport::devices {

std::string format_bytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes <= kKiB) return fmt::format("{} bytes", bytes);
  if (bytes <= kMiB) return fmt::format("{:.2f} KiB", value / 1024);
  if (bytes <= kGiB) return fmt::format("{:.2f} MiB", value / 1048576);
  return fmt::format("{:.2f} GiB", value / 1073741824);
}

}  // namespace torchport::devices
