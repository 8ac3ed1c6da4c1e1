// The built-in profiles, which the build makes from the files in profiles/.
#pragma once

#include <span>
#include <string_view>

#include "devices/profile.h"

namespace torchport::devices {

// Those of a kind: the default first, the others by name. Empty if the kind has none. Thread safe.
[[nodiscard]] std::span<const Profile> built_in_profiles(std::string_view kind);

}  // namespace torchport::devices
