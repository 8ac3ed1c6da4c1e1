// Whether NVIDIA's driver has given up a card.
#pragma once

#include "host/facts/facts.h"

namespace torchport::host::nvidia {

// Whether the loaded driver is newer than the last one that NVIDIA made for this card.
[[nodiscard]] bool is_dropped(const Facts& facts, const Gpu& gpu);

}  // namespace torchport::host::nvidia
