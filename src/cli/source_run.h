// Shares between check and fix the options that choose files, rules and settings, and the run that
// these options describe.
#pragma once

#include <memory>
#include <string>
#include <vector>

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
  std::vector<std::string> extend_select;
  std::vector<std::string> ignore;
  std::vector<std::string> exclude;
  std::string min_torch;
  std::string idiom;
  std::string helper;
  unsigned threads = 0;
  bool no_gitignore = false;
  bool no_cache = false;
  bool quiet = false;
  bool strict = false;
};

void add_selection_options(CLI::App& command, SelectionOptions& options);

// Everything that a run of check or fix needs, from options, settings file and environment.
struct SourceRun {
  project::Config config;
  project::CheckOptions check;
  std::vector<std::string> files;
  std::vector<base::Error> problems;  // problems of the discovery
  std::unique_ptr<project::Cache> cache;
  std::string first_path;
};

[[nodiscard]] base::Result<SourceRun> start_source_run(const SelectionOptions& options,
                                                       bool use_cache);

}  // namespace torchport::cli
