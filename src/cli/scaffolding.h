// Shares between `container` and `ci` the options that are written into files, and the messages
// about them.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scaffold/files.h"
#include "scaffold/project.h"
#include "scaffold/target.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace torchport::cli {

struct ScaffoldOptions {
  std::string project = ".";
  std::string torchport;
  std::vector<std::string> requirements;
  scaffold::TargetOptions target;
  bool force = false;
  bool only_show = false;
};

// Adds PROJECT, --torch, --python, --requirements, --torchport, --force and --stdout.
void add_scaffold_options(CLI::App& command, ScaffoldOptions& options);

[[nodiscard]] bool is_file(const std::string& path);
// Fails with kUsage for a text that could end a line or a word where it will be inserted.
[[nodiscard]] base::Result<void> check_plain(std::string_view option, std::string_view text);
[[nodiscard]] base::Result<void> check_scaffold_options(const ScaffoldOptions& options);

// Where the written files get torchport from: as the options say, else from a wheel in the project,
// else the release of this version, with a note. A wheel is a path relative to the project. Fails
// with kUsage for a wheel that does not exist or lies outside of the project.
[[nodiscard]] base::Result<std::string> torchport_source(const ScaffoldOptions& options,
                                                         std::vector<std::string>& notes);

// Prints or writes the files.
[[nodiscard]] base::Result<void> put_files(const std::vector<scaffold::File>& files,
                                           const ScaffoldOptions& options);
// Prints "  torch        2.13.0+cu130" to the stream that the files are not printed to.
void print_choice(const ScaffoldOptions& options, std::string_view name, std::string_view value);
void print_notes(const ScaffoldOptions& options,
                 const std::vector<const std::vector<std::string>*>& notes);

}  // namespace torchport::cli
