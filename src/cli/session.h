// Shares between check and fix the options that choose files, rules and settings, and the run that
// these options describe.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"
#include "source/project/cache.h"
#include "source/project/check.h"
#include "source/project/config.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace torchport::cli {

struct SelectionOptions {
  std::vector<std::string> paths;
  std::string package;
  std::string config_file;
  std::vector<std::string> select;
  std::vector<std::string> ignore;
  std::vector<std::string> exclude;
  std::string min_torch;
  std::string idiom;
  std::string helper;
  unsigned threads = 0;
  bool no_gitignore = false;
  bool no_cache = false;
  bool quiet = false;
};

void add_selection_options(CLI::App& command, SelectionOptions& options);

// Everything that a run needs, from options, settings file and environment.
struct Session {
  project::Config config;
  project::CheckOptions check;
  std::vector<std::string> files;
  std::vector<base::Error> problems;  // problems of the discovery
  std::unique_ptr<project::Cache> cache;
  std::string first_path;
};

[[nodiscard]] base::Result<Session> open_session(const SelectionOptions& options, bool use_cache);

// Prints an error as "torchport: path:line: message" to stderr.
void print_error(const base::Error& error);

// Prints "  torch        2.13.0+cpu"; prints nothing if there is no value.
void print_row(std::FILE* to, std::string_view name, std::string_view value);

// Reads and parses a file. An error names the file.
template <class T>
base::Result<T> read_recorded(const std::string& path, base::Result<T> (*parse)(std::string_view)) {
  const auto text = base::real_file_system().read(path);
  auto read = text ? parse(*text) : tl::unexpected<base::Error>(text.error());
  if (!read) read.error().path = path;
  return read;
}

// Whether to use colour on this stream: it is a terminal, and NO_COLOR is not set.
[[nodiscard]] bool wants_colour(int file_descriptor);

// A line on stderr that counts files during long work, only on a terminal.
[[nodiscard]] std::function<void(std::size_t)> progress_line(std::size_t total,
                                                             std::string_view verb);
void clear_progress_line();

}  // namespace torchport::cli
