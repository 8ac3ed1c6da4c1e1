#include "cli/git.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/git_run.h"

namespace torchport::cli {

namespace {

// Asks in a folder, or where this process is, for the status of these files, or of all. Returns
// git's answer; empty if git has none.
base::Result<std::string> status_of(const std::string& folder, const char* untracked,
                                    const std::vector<std::string>& files) {
  // A submodule has a configuration of its own.
  std::vector<std::string> words{
      "status", "--porcelain=v1", "-z", "--ignore-submodules=all", untracked, "--"};
  words.insert(words.end(), files.begin(), files.end());
  auto ended = GitFolder(folder).ask(words);
  if (!ended) return std::string();
  if (ended->out_of_time)
    return base::fail(
        base::ErrorCode::kBudget,
        fmt::format("`git status` did not end within {} s", GitFolder::kTimeLimit.count()), folder);
  if (ended->too_much_output)
    return base::fail(base::ErrorCode::kBudget, "`git status` writes too much", folder);
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
  const auto changed = status_of(folder, "--untracked-files=no", {});
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
  const auto ended = GitFolder(folder).ask({"check-ignore", "--quiet", "--", file});
  return ended && ended->well();
}

}  // namespace torchport::cli
