// Describes which virtual devices a process has. `torchport run` writes the description into the
// environment, and each process that inherits the environment reads it, so that child processes
// have the same devices without a change to the program.
//
//   cuda:4
//   cuda:2,memory=16GiB,profile=a100-80g
//   cuda:1,random=cpu
//   cuda:8,profile=h100-80g,data=64KiB      (larger tensors have no data)
//   cuda:1,profile=/home/me/my-card.toml    (a profile of one's own)
//   mps
//   none                (no CUDA device, whatever the host has)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "devices/device_kind.h"

namespace torchport::device {

// The name of the environment variable.
constexpr const char* kVariable = "TORCHPORT_VIRTUAL";
constexpr int kMaxDevices = 64;

// Which random numbers a program draws on virtual devices.
enum class RandomNumbers : std::uint8_t {
  kDevice,  // those that a real device of the profile draws; only CUDA's are known
  kCpu,     // those that the CPU draws from the same seed
};

struct Spec {
  std::string kind = "cuda";                         // a name of devices::kinds(), or "none"
  int count = 1;                                     // 0 for "none"
  std::uint64_t memory = 0;                          // of each device, in bytes
  const devices::DeviceKind* description = nullptr;  // null for "none"
  const devices::Profile* profile = nullptr;         // null for "none"
  RandomNumbers random = RandomNumbers::kCpu;        // kDevice is the default for "cuda"
  // The bytes up to which a device's storages have data; all have it if there is no number.
  std::optional<std::uint64_t> data;

  // The text from which parse_spec() reads the same spec.
  [[nodiscard]] std::string text() const;
};

// The UUID of a device, as CUDA writes it: "GPU-", and 32 digits in five groups. `number` counts
// all devices of the spec, whichever are visible.
[[nodiscard]] std::string uuid_of(const Spec& spec, int number);

// Reads a device spec. Fails with kUsage; the message says what would be right.
[[nodiscard]] base::Result<Spec> parse_spec(std::string_view text);

}  // namespace torchport::device
