// What of torch differs between releases, for placing (since.h has the form).
#pragma once

#include <cstddef>
#include <optional>

#include <ATen/DeviceAccelerator.h>

#include "runtime/torch_releases/since.h"

namespace torchport {

// since 2.10: ATen/DeviceAccelerator.h has `getMemoryInfo(`
#define TORCHPORT_HAS_MEMORY_INFO TORCHPORT_TORCH_SINCE(2, 10)

// The free bytes of an accelerator; nothing if torch does not tell C++.
inline std::optional<std::size_t> free_bytes_of_accelerator(
    [[maybe_unused]] c10::DeviceIndex index) {
#if TORCHPORT_HAS_MEMORY_INFO
  return at::accelerator::getMemoryInfo(index).first;
#else
  return {};
#endif
}

}  // namespace torchport
