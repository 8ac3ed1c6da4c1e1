// Chooses the device on which a program computes, and says why.
//
// Programs choose their device in many places, with tests that differ. Here one function decides,
// by one order of sources: the argument, the environment, the profile, the default. It returns the
// reason, so that a program can print why it does not run on the GPU. An unavailable device is an
// error: torchport never falls back to the CPU unless the request names the CPU or is "auto".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torchport/export.h>

namespace torchport {

struct DeviceRequest {
  // Device specs in order of preference: "cuda,mps,cpu". Each is a device kind ("cuda"), one device
  // ("cuda:1"), the device of a kind with the most free memory ("cuda:free"), or "auto" for the
  // default order. If empty, TORCHPORT_DEVICE decides, then the profile's `device`, then "auto".
  std::string wanted;
  // The number of the device if its kind has several. If none, LOCAL_RANK decides, as torchrun sets
  // it.
  std::optional<int> local_rank;
  // The folder in which the upward search for torchport.toml or pyproject.toml begins. If empty,
  // the current folder.
  std::string folder;
};

struct DeviceChoice {
  c10::Device device;
  std::string source;  // who asked: "argument", "TORCHPORT_DEVICE", "profile dev", "default"
  std::string reason;  // "cuda:1 is the one of LOCAL_RANK 1"
  // specs that were preferred but are unavailable, each with the reason
  std::vector<std::string> refused;
};

// Chooses the device for a request. Initialises no device. Throws
// std::invalid_argument for a text that is no list of specs, and std::runtime_error if none of them
// is available; both messages say why. Thread safe.
[[nodiscard]] TORCHPORT_API DeviceChoice choose_device(const DeviceRequest& request = {});

// The version of the torch in this process, with its build: "2.13.0+cpu". One libtorchport.so
// serves all builds of a release, so this is read from torch's version.py. Without that file it is
// the release that the library was built for. Thread safe.
[[nodiscard]] TORCHPORT_API const std::string& torch_version();

// The number of devices of a kind that can be used now. If it is 0 and `why_not` is given,
// `why_not` receives the reason. Thread safe.
[[nodiscard]] TORCHPORT_API int device_count(c10::DeviceType kind, std::string* why_not = nullptr);

// The free memory of a device, in bytes: what the allocator says for an accelerator, and what the
// system says is available for the CPU. Throws c10::Error if the backend cannot tell. Thread safe.
[[nodiscard]] TORCHPORT_API std::size_t free_memory(c10::Device device);

// The settings of a program for one situation (such as "dev" or "production"), read from
// [tool.torchport.profiles.NAME] in pyproject.toml or [profiles.NAME] in torchport.toml.
struct RunProfile {
  std::string name;
  std::string file;  // the file that it was read from
  std::optional<std::string> device;
  std::optional<std::string> dtype;  // as torch names it: "bfloat16"
  std::optional<long> batch_size;
  std::optional<int> workers;  // processes of a DataLoader
};

// Reads the profile called `name`. If `name` is empty, TORCHPORT_PROFILE decides, then "default".
// `folder` is as in DeviceRequest. Returns none if no name was asked for and there is no default
// profile. Throws std::invalid_argument for a name that no file has, an unknown key or an invalid
// value. Thread safe.
[[nodiscard]] TORCHPORT_API std::optional<RunProfile> run_profile(const std::string& name = {},
                                                                  const std::string& folder = {});

}  // namespace torchport
