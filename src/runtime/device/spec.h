// Which virtual devices there are to be: what `torchport run` writes into the environment, and what
// every process that inherits it reads.
//
//   cuda:4
//   cuda:2,memory=16GiB,profile=a100-80g
//   mps
//   none                (no accelerator at all, whatever the host has)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "devices/device_kind.h"

namespace torchport::device {

// The name of the environment variable.
constexpr const char* kVariable = "TORCHPORT_VIRTUAL";
constexpr int kMaxDevices = 64;

struct Spec {
  std::string kind = "cuda";                         // of devices::kinds(), or "none"
  int count = 1;                                     // 0 for "none"
  std::uint64_t memory = 0;                          // bytes of each device
  const devices::DeviceKind* description = nullptr;  // null for "none"
  const devices::Profile* profile = nullptr;         // null for "none"

  // The text that parse() reads.
  [[nodiscard]] std::string text() const;
};

// Fails with kUsage, in words that say what would be right.
[[nodiscard]] base::Result<Spec> parse_spec(std::string_view text);
// What a variable such as CUDA_VISIBLE_DEVICES leaves of so many devices, in its order, by the
// rules of the CUDA driver: the first entry that is no device ends the list, and a device named
// twice leaves none. Null is all. Devices are named by number; other names (GPU-..., MIG-...) are
// of real ones.
[[nodiscard]] std::vector<int> visible_devices(const char* text, int count);
// "16GiB", "512MiB", "8g", "1024": bytes. Fails with kUsage.
[[nodiscard]] base::Result<std::uint64_t> parse_size(std::string_view text);

}  // namespace torchport::device
