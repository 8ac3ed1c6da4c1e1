// Where a program computes: asked once, answered with the reason.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torchport/export.h>

namespace torchport {

struct DeviceRequest {
  // Places in order of preference: "cuda,mps,cpu". A place is a kind ("cuda"), one device
  // ("cuda:1"), the one with most free memory ("cuda:free"), or "auto" for the default order.
  // Empty: TORCHPORT_DEVICE, then the profile's `device`, then "auto".
  std::string wanted;
  // Of several devices of a kind the one with this number; none: LOCAL_RANK, as torchrun sets it.
  std::optional<int> local_rank;
  // Where the search for torchport.toml or pyproject.toml begins, upwards; empty: here.
  std::string folder;
};

struct DeviceChoice {
  c10::Device device;
  std::string source;  // who asked: "argument", "TORCHPORT_DEVICE", "profile dev", "default"
  std::string reason;  // "cuda:1 is the one of LOCAL_RANK 1"
  std::vector<std::string> refused;  // what came first and is not there, with why
};

// Throws std::invalid_argument for what is no place, std::runtime_error where none of the places is
// there; both say why. Initialises no device. Thread safe.
[[nodiscard]] TORCHPORT_API DeviceChoice choose_device(const DeviceRequest& request = {});

// Devices of a kind that can be used now; `why_not` is filled where there is none.
[[nodiscard]] TORCHPORT_API int device_count(c10::DeviceType kind, std::string* why_not = nullptr);

// Bytes free on a device: of an accelerator as its allocator says, of the CPU what the system says
// is available. Throws c10::Error where a backend cannot tell.
[[nodiscard]] TORCHPORT_API std::size_t free_memory(c10::Device device);

// What a program is to use in a situation: [tool.torchport.profiles.NAME] of pyproject.toml, or
// [profiles.NAME] of torchport.toml.
struct RunProfile {
  std::string name;
  std::string file;  // it was read from
  std::optional<std::string> device;
  std::optional<std::string> dtype;  // as torch names it: "bfloat16"
  std::optional<long> batch_size;
  std::optional<int> workers;  // of a DataLoader
};

// The profile called `name`; empty: TORCHPORT_PROFILE, then "default". None where no name was asked
// for and there is no default. Throws std::invalid_argument for a name that no file has, an unknown
// key or a value that cannot be.
[[nodiscard]] TORCHPORT_API std::optional<RunProfile> run_profile(const std::string& name = {},
                                                                  const std::string& folder = {});

}  // namespace torchport
