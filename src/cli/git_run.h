// The one place that starts git. What it asks of a repository runs no program that the repository
// names.
//
// A tree that is checked may come from a stranger, and so may its .git folder, whose configuration
// can name programs: a monitor of files, hooks, filters, helpers of transports and of differences.
// A bare repository may also lie among the files of a clone.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace torchport::cli {

// Asks about the repository that a folder is a part of. What git says of its configuration counts,
// but for what names a program: of that, only what the user set for all repositories. Nothing is
// fetched, and nothing is written. A repository whose folder is not named .git, nor by a file .git
// above the folder, is none: git's answer then says so in `errors`. Belongs to one thread.
class GitFolder {
 public:
  // An empty folder is the current one.
  explicit GitFolder(std::string folder = {}, std::chrono::seconds time_limit = kTimeLimit)
      : folder_(std::move(folder)), time_limit_(time_limit) {}

  // `words` are a command and its options, {"status", "--porcelain=v1"}, which only reads. Fails
  // with kIo if git is not installed.
  [[nodiscard]] base::Result<base::Ended> ask(const std::vector<std::string>& words) const;

  static constexpr std::chrono::seconds kTimeLimit{60};

 private:
  using Environment = std::map<std::string, std::optional<std::string>>;

  [[nodiscard]] base::Result<base::Ended> run(const std::vector<std::string>& words) const;
  [[nodiscard]] bool is_chosen_by_name() const;
  [[nodiscard]] Environment without_filters() const;

  std::string folder_;
  std::chrono::seconds time_limit_;
  // What the first question finds out: whether there is a repository, and what switches off its
  // filters.
  mutable std::optional<bool> is_repository_{};
  mutable Environment filters_{};
};

}  // namespace torchport::cli
