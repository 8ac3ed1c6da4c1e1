// Finds the smallest of many devices that a program fits on, with few trials: a trial runs the
// whole program.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace torchport::plan {

struct Card {
  std::string profile;       // its name, or the path of a user's own
  std::uint64_t memory = 0;  // bytes
  int capability = 0;        // 89 for 8.9; 0 if the kind has none
};

enum class Outcome : std::uint8_t {
  kFits,
  kTooSmall,
  kFails,  // for another reason, which has to do with the device: it lacks a type, for instance
};

struct CardTrial {
  Outcome outcome = Outcome::kFits;
  // If it fits: bytes of a device on which it does so, too, and those that it needs at any rate.
  // Both can be somewhat wrong for another device: they only make a search short.
  std::uint64_t enough = 0;
  std::uint64_t least = 0;
};

struct Smallest {
  std::optional<Card> found;  // none if it fits on none
  std::optional<Card>
      too_small;  // the largest that is smaller and was tried; none if there is none
};

// Tries the largest card, then the smallest one that has the memory that was needed there, then the
// next smaller one, and bisects what is left above the least that is needed. The next smaller card
// of the result was tried in any case. A card fits if each larger one does, except that on
// cards of low capability a program can fail for another reason: these are left out from then on,
// with all that have no higher capability. Fails with what `try_card` fails with, and with kConfig
// if the program fails on the largest card.
[[nodiscard]] base::Result<Smallest> find_smallest(
    std::vector<Card> cards, const std::function<base::Result<CardTrial>(const Card&)>& try_card);

}  // namespace torchport::plan
