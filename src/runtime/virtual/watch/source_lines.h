// Where the program stands, in its own Python sources.
//
// Asked of CPython by its C interface, found at run time: this library does not link to Python. Not
// a line of Python runs for it, so no handler of a signal does: an exception out of one (Ctrl-C)
// would have no program above it to end, and be lost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torchport::vdev {

// From now on lines are told. Frames of files whose names start with one of these are passed over.
void tell_source_lines(std::vector<std::string> passed_over);
// To be called before the interpreter ends.
void tell_no_source_lines();

// The number of the line that the calling thread is at; 0 where it runs no line of the program, or
// lines are not told. Whether Python's lock is held does not matter. Thread-safe.
[[nodiscard]] std::int64_t source_line();
// "FILE:LINE" of the numbers from 1 on.
[[nodiscard]] std::vector<std::string> source_lines();

}  // namespace torchport::vdev
