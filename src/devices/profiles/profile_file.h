// Reads profiles from TOML. Built-in profiles and a user's own have one format, so that a device
// that somebody described for himself becomes a built-in one by copying its file:
//
//   kind = "cuda"
//   name = "my-card"
//   device-name = "NVIDIA My Card"
//   capability = "8.9"              # of CUDA; the limits of a multiprocessor follow from it
//   memory = "23 GiB"               # as the device reports it
//   multiprocessors = 100
//   clock-mhz = 2500
//   [sources]
//   device = "nvidia-smi on my machine"
//
// docs/device-profiles.md lists all keys.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "devices/profile.h"

namespace torchport::devices {

// What "memory-report" may be, by MemoryReport.
inline constexpr std::array<std::string_view, 3> kMemoryReports = {"runtime", "driver", "nominal"};
[[nodiscard]] constexpr std::string_view name_of(MemoryReport report) {
  return kMemoryReports.at(static_cast<std::size_t>(report));
}

// A profile that owns its text. It stays where it is, since the profile points into it.
struct ProfileFile {
  std::string kind;  // "cuda"
  std::string name;
  std::string device_name;
  std::string source;
  std::string peak_source;
  std::string bandwidth_source;
  std::string path;         // as it was given
  bool is_default = false;  // of its kind, for built-in profiles
  Profile profile{};        // its texts are those above

  ProfileFile() = default;
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;
};

// Reads the text of the file `path`, which only messages name. Fails with kConfig, a path and a
// line if the text is no TOML, a key is unknown or missing, or a value cannot be. Thread safe.
[[nodiscard]] base::Result<std::unique_ptr<ProfileFile>> parse_profile(std::string_view text,
                                                                       const std::string& path);

// Whether `--profile` means a file by this, and not a name: it has a slash or ends in ".toml".
[[nodiscard]] bool is_profile_path(std::string_view text);

// The profile in a file, which is read once in a process and kept. Fails as parse_profile(), with
// kIo if the file cannot be read, and with kConfig if its kind is another. Thread safe.
[[nodiscard]] base::Result<const Profile*> own_profile(const std::string& path,
                                                       std::string_view kind);

}  // namespace torchport::devices
