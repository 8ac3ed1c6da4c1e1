// Compares the two parsers, for tests, the fuzzer and bench/compare_parsers.
#pragma once

#include <string>
#include <string_view>

#include "source/syntax/tree.h"

namespace torchport::syntax {

// What the two parsers make of a text.
struct ParserComparison {
  enum class Outcome : std::uint8_t {
    kSame,     // the same records
    kRefused,  // the quick parser refuses a text without a syntax error
    kBroken,   // it refuses a text that the grammar refuses, too
    kDiffers,
  };
  Outcome outcome = Outcome::kSame;
  std::string difference;  // of kDiffers: the first one, in words
  std::uint32_t line = 0;  // of kRefused: where the quick parser stopped
};

// Parses `source` in both ways. Thread safe.
[[nodiscard]] ParserComparison compare_parsers(std::string_view source,
                                               const ParseLimits& limits = {});

}  // namespace torchport::syntax
