// Compares a file that two runs of a program wrote, on two kinds of devices. Its bytes may differ:
// floating-point numbers do in their last digits, and a checkpoint names the device that it was
// saved from.
#pragma once

#include <cstdint>
#include <string>

namespace torchport::proof {

enum class FilesAre : std::uint8_t { kTheSame, kDifferent, kNotComparable };

struct FileComparison {
  FilesAre files = FilesAre::kTheSame;
  std::string words;  // how they differ, or why they cannot be compared; else empty
};

// Reads text as compare_output() does. Of checkpoints (what checkpoint::inspect() reads) and arrays
// of NumPy (.npy), each tensor may differ by the tolerance of its type, or by `tolerance` if that
// is larger: the sum of all differences, relative to the sum of the numbers. All other files are
// comparable only if their bytes are the same. A file that is missing from one run differs. Thread
// safe.
[[nodiscard]] FileComparison compare_files(const std::string& first, const std::string& second,
                                           double tolerance);

}  // namespace torchport::proof
