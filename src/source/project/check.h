// A project through the rules: many files, several threads, one report.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "source/project/cache.h"
#include "source/project/config.h"
#include "source/project/diagnostic.h"
#include "source/project/glob.h"

namespace torchport::project {

struct CheckOptions {
  rules::Selection selection;  // exactly these rules
  edit::Settings settings;
  std::string root = ".";  // what per-file patterns are relative to
  std::vector<std::pair<GlobList, rules::Selection>> per_file_ignores;
  unsigned threads = 1;
  std::string fingerprint;  // of this program: part of every cache key
  Cache* cache = nullptr;
  const std::atomic<bool>* cancelled = nullptr;    // stops between files when true
  std::function<void(std::size_t done)> progress;  // called from worker threads
};

struct Report {
  std::vector<Diagnostic> diagnostics;  // by path, then position
  std::vector<base::Error> problems;    // files that could not be read or understood
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  std::size_t relevant = 0;  // files that mention torch or CUDA at all
  std::size_t parsed = 0;    // files that had to be parsed (neither irrelevant nor cached)
  bool cancelled = false;
};

// The result does not depend on the number of threads.
[[nodiscard]] Report check_files(const base::FileSystem& fs, const std::vector<std::string>& files,
                                 const CheckOptions& options);

// Findings of one file's bytes; the problem is set when it could not be understood.
struct FileFindings {
  std::vector<Diagnostic> diagnostics;
  std::vector<base::Error> problems;
};
// Ends at the deadline, or after the budget of one file.
[[nodiscard]] FileFindings check_source(const std::string& path, std::string source,
                                        const CheckOptions& options,
                                        rules::Deadline* deadline = nullptr);

// The rules that per-file patterns silence in a file.
[[nodiscard]] rules::Selection silenced_rules(const std::string& path, const CheckOptions& options);

// What one file may take, reading it apart.
constexpr std::chrono::milliseconds kFileBudget{1800};
[[nodiscard]] rules::Deadline file_deadline();

}  // namespace torchport::project
