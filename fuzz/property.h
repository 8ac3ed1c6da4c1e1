// Shared by the fuzz targets: the report of a violated property, and a mutator that works on lines
// of Python. libFuzzer's own mutator mostly breaks the syntax, and a text that does not parse never
// reaches a fix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::fuzz {

// Ends the process unless `holds`, and prints the property and the text that violated it.
void require(bool holds, std::string_view promise, std::string_view text = {});

// Requires that every finding and every edit lies inside of the text.
void require_inside(const std::vector<rules::Finding>& findings, std::string_view text);

// The text after one change to its lines: a line is removed, doubled, moved, indented or put under
// a new `if`, `def`, ..., or some lines of the rules' pages are inserted.
[[nodiscard]] std::string mutate_lines(std::string_view text, std::minstd_rand& random);

}  // namespace torchport::fuzz
