// Runs the rules over a project: many files, several threads, one report.
//
// A file that fails is a problem in the report, never an error of the run, because one damaged file
// must not hide the findings of the others.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file_system.h"
#include "base/thread_clock.h"
#include "source/project/cache.h"
#include "source/project/config.h"
#include "source/project/diagnostic.h"
#include "source/project/glob.h"

namespace torchport::project {

struct CheckOptions {
  rules::Selection selection;  // exactly these rules
  edit::Settings settings;
  std::string min_torch_from;  // see Config; only reports need it
  std::string root = ".";      // per-file patterns are relative to it
  std::vector<std::pair<GlobList, rules::Selection>> per_file_ignores;
  unsigned threads = 1;
  std::string fingerprint;  // identifies this program; a part of every cache key
  Cache* cache = nullptr;
  // What the whole project says. Without it, diagnostics keep their conditions.
  const flow::Summary* project = nullptr;
  // The other files of the project. They are asked for, and read, if a finding depends on who calls
  // its function.
  std::function<std::vector<std::string>()> rest;
  bool wants_project = false;  // CheckReport::project is needed, whatever the cache knows
  // The run stops before the next file when this is true.
  const std::atomic<bool>* cancelled = nullptr;
  std::function<void(std::size_t done)> progress;  // called from worker threads
};

struct CheckReport {
  std::vector<Diagnostic> diagnostics;  // by path, then position
  std::vector<base::Error> problems;    // files that could not be read or understood
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  std::size_t relevant = 0;                 // files that mention torch or CUDA
  std::vector<std::string> relevant_paths;  // of those
  std::size_t parsed = 0;  // files that had to be parsed (neither irrelevant nor cached)
  bool cancelled = false;
  // What the files say together; null if there are no findings, or if the cache knew the answers.
  std::shared_ptr<const flow::Summary> project;
  // How much of its budget was spent on each file that took a noticeable part of it.
  std::unordered_map<std::string, base::ThreadClock::duration> slow;
};

// Checks files, and drops what they make void together. The result does not depend on the number of
// threads.
[[nodiscard]] CheckReport check_files(const base::FileSystem& fs,
                                      const std::vector<std::string>& files,
                                      const CheckOptions& options);

// The findings in one file, and what kept it from being understood.
struct FileFindings {
  std::vector<Diagnostic> diagnostics;
  std::vector<base::Error> problems;
  // Of Python files and notebooks that were understood, if CheckOptions::project is not set.
  std::optional<flow::FileFacts> facts;
  base::ThreadClock::duration took{};  // of the file's budget
};
// Checks one file's bytes. Ends at the deadline or, without one, after the budget of one file.
// Thread safe.
[[nodiscard]] FileFindings check_source(const std::string& path, std::string source,
                                        const CheckOptions& options,
                                        rules::Deadline* deadline = nullptr);

// The rules that per-file patterns silence in a file.
[[nodiscard]] rules::Selection silenced_rules(const std::string& path, const CheckOptions& options);
// The options for one file: without the rules that per-file patterns silence in it.
[[nodiscard]] CheckOptions without_silenced(const std::string& path, const CheckOptions& options);
// What the settings say about a check: rules, settings of fixes, root, per-file patterns. Fails
// with kConfig if they name a rule that does not exist.
[[nodiscard]] base::Result<CheckOptions> check_options(const Config& config);

// The time for parsing one file and running the rules on it. It bounds the damage of a hostile
// file; ordinary ones take milliseconds.
constexpr std::chrono::milliseconds kFileBudget{1800};
// The deadline of a file on which a part of its budget was spent before.
[[nodiscard]] rules::Deadline file_deadline(base::ThreadClock::duration spent = {});

}  // namespace torchport::project
