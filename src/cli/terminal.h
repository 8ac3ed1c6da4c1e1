// What all subcommands do in the same way: print errors, rows of a table and the progress of a run,
// and read the environment.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace torchport::cli {

// The value of an environment variable; empty if it is not set.
[[nodiscard]] std::string environment(const char* name);

// Prints an error as "torchport: path:line: message" to stderr.
void print_error(const base::Error& error);

// Prints an error. Returns the exit code: kUsageError of kUsage, kInternalError of others.
int fail(const base::Error& error);

// Prints "  torch        2.13.0+cpu"; prints nothing if there is no value.
void print_row(std::FILE* to, std::string_view name, std::string_view value);

// Whether to use colour on this stream: it is a terminal, and NO_COLOR is not set.
[[nodiscard]] bool wants_colour(int file_descriptor);

// A line on stderr that counts files during long work, only on a terminal.
[[nodiscard]] std::function<void(std::size_t)> progress_line(std::size_t total,
                                                             std::string_view verb);
void clear_progress_line();

}  // namespace torchport::cli
