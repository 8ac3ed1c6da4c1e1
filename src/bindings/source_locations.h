// Numbers the places in a Python program where a line of the program called something, and what
// called that line. A number instead of frames keeps the record of an observation small.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torchport::bindings {

// Keeps the numbers of places valid while at least one such object lives. The first object after
// that starts a new numbering, with its own `passed_over`: frames of files whose names start with
// one of these are skipped. There is one numbering for all objects, so that two observations at the
// same time look a place up once. Thread safe; Python's lock is not needed.
class KeptPlaces {
 public:
  explicit KeptPlaces(std::vector<std::string> passed_over);
  ~KeptPlaces();
  KeptPlaces(const KeptPlaces&) = delete;
  KeptPlaces& operator=(const KeptPlaces&) = delete;
};

// The number of the calling thread's place, from 1 on; 0 if it runs no line of the program, or if
// this process has no Python. Takes Python's lock; before Python 3.12 it may start the garbage
// collector. Thread safe, never throws.
[[nodiscard]] std::uint32_t location_here() noexcept;

// The position of a frame. Numbers are 0 if Python does not know them: before Python 3.11 it knows
// the line alone. The compiler gives a jump the position of a whole statement, or of another
// operand; `code` and `instruction` let the reader find the operand that it tests.
struct SourceLocation {
  std::string file, function;
  int line = 0, end_line = 0, column = 0, end_column = 0;
  std::int64_t code = 0;  // the address of the code object, which lives while a KeptPlaces does
  int instruction = -1;   // the offset in the code, in bytes; -1 if it is not known
};

// The frames of a place, innermost first; none for a number that is not valid. Thread safe.
[[nodiscard]] std::vector<SourceLocation> frames_of_location(std::uint32_t number);

}  // namespace torchport::bindings
