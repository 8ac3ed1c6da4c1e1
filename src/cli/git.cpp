#include "cli/git.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/process.h"
#include "base/text.h"

namespace torchport::cli {

namespace {

constexpr std::chrono::seconds kTimeLimit{60};

// Runs `git status` for these files, or for all; `options` are those before `status`. Returns its
// output; empty if git fails.
base::Result<std::string> status_of(const std::vector<std::string>& options, const char* untracked,
                                    const std::vector<std::string>& files) {
  std::vector<std::string> words{"git"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"status", "--porcelain=v1", "-z", untracked, "--"});
  const std::string shown = fmt::format("{}", fmt::join(words.begin(), words.end() - 1, " "));
  words.insert(words.end(), files.begin(), files.end());
  auto ended = base::run(
      {.words = std::move(words), .errors_file = base::kNowhere, .time_limit = kTimeLimit});
  if (!ended) return std::string();
  if (ended->out_of_time)
    return base::fail(base::ErrorCode::kBudget,
                      fmt::format("`{}` did not end within {} s", shown, kTimeLimit.count()));
  if (ended->too_much_output)
    return base::fail(base::ErrorCode::kBudget, fmt::format("`{}` writes too much", shown));
  return ended->well() ? std::move(ended->output) : std::string();
}

std::vector<std::string> entries(const std::string& listing) {
  std::vector<std::string> result;
  for (const std::string_view entry : base::split(listing, '\0')) {
    if (entry.size() > 3) result.emplace_back(entry.substr(3));
  }
  return result;
}

}  // namespace

base::Result<std::vector<std::string>> dirty_files(const std::string& folder,
                                                   const std::vector<std::string>& files) {
  const auto changed = status_of({"-C", folder}, "--untracked-files=no", {});
  if (!changed) return tl::unexpected<base::Error>(changed.error());
  auto dirty = entries(*changed);
  if (files.empty()) return dirty;
  const auto untracked = status_of({}, "--untracked-files=all", files);
  if (!untracked) return tl::unexpected<base::Error>(untracked.error());
  for (std::string& path : entries(*untracked)) {
    if (std::find(dirty.begin(), dirty.end(), path) == dirty.end())
      dirty.push_back(std::move(path));
  }
  return dirty;
}

bool is_ignored(const std::string& folder, const std::string& file) {
  const auto ended =
      base::run({.words = {"git", "-C", folder, "check-ignore", "--quiet", "--", file},
                 .errors_file = base::kNowhere,
                 .time_limit = kTimeLimit});
  return ended && ended->well();
}

}  // namespace torchport::cli
