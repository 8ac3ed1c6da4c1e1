// The one place that starts git. What it asks of a repository runs no program that the repository
// names.
//
// A tree that is checked may come from a stranger, and so may its .git folder, whose configuration
// can name programs: a monitor of files, hooks, filters, helpers of transports and of differences.
// A bare repository may also lie among the files of a clone.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace torchport::cli {

struct GitQuestion {
  std::string folder{};
  // The command and its options: {"status", "--porcelain=v1"}. It only reads.
  std::vector<std::string> words{};
  std::chrono::seconds time_limit{60};
  std::size_t most_output = std::size_t{1} << 30U;  // bytes
};

// Asks git about the repository that `folder` is a part of. What git says of its configuration
// counts, but for what names a program: of that, only what the user set for all repositories.
// Nothing is fetched, and nothing is written. Fails with kIo if git is not installed. A repository
// whose folder is not named .git, nor by a file .git above `folder`, is none: git's answer then
// says so in `errors`. Thread safe, as long as no thread changes the environment.
[[nodiscard]] base::Result<base::Ended> ask_git(const GitQuestion& question);

}  // namespace torchport::cli
