// Finds out which line of its own Python sources the program is at.
// src/runtime/python_frames walks the frames, without Python at build time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torchport::vdev {

// Starts to find lines. Frames of files whose names start with one of `passed_over` are skipped.
void start_source_lines(std::vector<std::string> passed_over);
// Stops finding lines. Call it before the interpreter ends.
void stop_source_lines();

// The number of the line that the calling thread is at; 0 if it runs no line of the program or
// lines are not looked for. Works with and without Python's lock. Thread safe.
[[nodiscard]] std::int64_t source_line();
// "FILE:LINE" of that line; empty if there is none.
[[nodiscard]] std::string source_place();
// "FILE:LINE" of each number, from 1 on.
[[nodiscard]] std::vector<std::string> source_lines();

}  // namespace torchport::vdev
