// Compares what two runs of a program print. Equality of bytes would be too strict: figures of time
// and speed differ on every run, and floating-point numbers differ in their last digits on another
// device.
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

// The first line at which two outputs differ; none if they are equal. Numbers may differ by the
// relative `tolerance`. Figures of time and speed ("3.2 s", "12 it/s", "0:01:07") are not compared.
// Thread safe.
[[nodiscard]] std::optional<OutputDifference> compare_output(std::string_view first,
                                                             std::string_view second,
                                                             double tolerance);

// How many numbers an output has that are no figures of time and speed. Thread safe.
[[nodiscard]] std::size_t numbers_in(std::string_view output);

}  // namespace torchport::proof
