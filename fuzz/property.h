// What the fuzz targets share: how a broken promise is reported, and a mutator
// that knows Python has lines. libFuzzer's own mutator mostly breaks the syntax,
// and a text that does not parse never reaches a fix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::fuzz {

// Ends the process, with the words and the text that broke the promise, unless `holds`.
void require(bool holds, std::string_view promise, std::string_view text = {});

// Every finding and every edit lies inside of the text.
void require_inside(const std::vector<rules::Finding>& findings, std::string_view text);

// The text after one change to its lines: one taken out, doubled, moved, indented,
// put under a new `if`, `def`, ..., or a run of lines of the rules' pages put in.
[[nodiscard]] std::string mutate_lines(std::string_view text, std::minstd_rand& random);

}  // namespace torchport::fuzz
