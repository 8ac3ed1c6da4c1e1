// Finds what a pickle would cost to load beyond its own size: a few bytes can ask for hours or for
// all memory of a machine.
#pragma once

#include <string>
#include <vector>

#include "runtime/checkpoint/pickle.h"

namespace torchport::checkpoint {

// Says what in the pickle would take time or memory out of proportion if it was loaded, for a
// reader: keys whose hashes take exponential time, because each tuple holds the one before it
// twice; number keys with equal hashes, which make a dict quadratic; a bytearray of a terabyte.
// Empty for a file of weights. Thread safe; linear in the pickle.
[[nodiscard]] std::vector<std::string> costs_of(const Pickle& pickle);

}  // namespace torchport::checkpoint
