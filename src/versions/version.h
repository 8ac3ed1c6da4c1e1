// Reads and compares versions as programs and packages state them: "2.13.0+cu130", "580.65.06",
// "12.2".
//
// This is the only reader of versions in C++. It reads the release segment and the local part of
// PEP 440. Epochs and pre-, post- and development releases are not distinguished: what is compared
// here (drivers, CUDA, compilers, releases of torch, Python) either has none or means the release,
// so "2.14.0rc1" reads as 2.14.0. A type with an order of its own was rejected, because most
// versions are texts that are read, shown and compared once.
//
// Every function takes any text and never fails: text that is not a version has no numbers. Thread
// safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchport::versions {

// "580.65.06" -> {580, 65, 6}. Stops at the first character that is neither a digit nor a dot
// between digits: "2.13.0+cu130" -> {2, 13, 0}. Empty if the text does not begin with a number.
[[nodiscard]] std::vector<int> parse_version(std::string_view text);

// Compare by number. A missing number is 0, so "2.13" and "2.13.0" are equal.
[[nodiscard]] bool older(std::string_view a, std::string_view b);
[[nodiscard]] bool equal(std::string_view a, std::string_view b);
[[nodiscard]] bool same_major(std::string_view a, std::string_view b);
// The major versions are equal, too.
[[nodiscard]] bool same_minor(std::string_view a, std::string_view b);

// The part before "+" and the part after it: "2.13.0" and "cu130" for "2.13.0+cu130".
[[nodiscard]] std::string without_local(std::string_view version);
[[nodiscard]] std::string local_of(std::string_view version);

}  // namespace torchport::versions
