// Tells whose packages a distribution of Linux has, for remedies that install some.
#pragma once

#include <cstdint>

#include "host/facts/facts.h"

namespace torchport::host {

enum class Distribution : std::uint8_t { kUbuntu, kDebian, kFedora, kRedHat, kArch, kOther };

// By the release's name. That of a container is the one of its image.
[[nodiscard]] Distribution distribution_of(const Facts& facts);

// The main number of its release: 12 for "Debian GNU/Linux 12 (bookworm)"; 0 if it names none.
[[nodiscard]] int release_number(const Facts& facts);

}  // namespace torchport::host
