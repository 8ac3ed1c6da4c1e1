// What programs print, compared: text is text, numbers are numbers, and times are nobody's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace torchport::proof {

struct OutputDifference {
  std::size_t line = 0;  // one-based
  std::string first;
  std::string second;
};

// The first line where two outputs differ. Numbers may differ by `tolerance`, relatively; figures
// of time and speed ("3.2 s", "12 it/s", "0:01:07") are not compared.
[[nodiscard]] std::optional<OutputDifference> compare_output(std::string_view first,
                                                             std::string_view second,
                                                             double tolerance);

}  // namespace torchport::proof
