// LocationTable in Python programs, numbered: where a line of the program's own called, and what
// called it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torchport::bindings {

// Numbers of places hold as long as one of these lives; the first one after that starts anew, with
// its own list: frames of files whose names start with one of `passed_over` are passed over. One
// numbering for all, so that places that two observations ask for at once are found once. Made and
// unmade under Python's lock.
class KeptPlaces {
 public:
  explicit KeptPlaces(std::vector<std::string> passed_over);
  ~KeptPlaces();
  KeptPlaces(const KeptPlaces&) = delete;
  KeptPlaces& operator=(const KeptPlaces&) = delete;
};

// The number of the place that the calling thread is at, from 1 on; 0 where no line of the program
// runs. Takes Python's lock, runs no line of Python. Thread-safe, never throws.
[[nodiscard]] std::uint32_t location_here() noexcept;

// Where a frame stands: the positions are 0 where Python does not know them.
struct SourceLocation {
  std::string file, function;
  int line = 0, end_line = 0, column = 0, end_column = 0;
};

// The frames of a place, innermost first. Needs Python's lock.
[[nodiscard]] std::vector<SourceLocation> frames_of_location(std::uint32_t number);

}  // namespace torchport::bindings
