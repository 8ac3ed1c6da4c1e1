#include "cli/git.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace torchport::cli {

namespace {

// Runs a program and returns its standard output; empty if it fails.
std::string output_of(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int rc = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> buffer{};
  while (rc == 0) {
    const ssize_t got = read(ends[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (rc != 0) return {};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? output : std::string();
}

std::vector<std::string> entries(const std::string& listing) {
  std::vector<std::string> result;
  for (const std::string_view entry : base::split(listing, '\0')) {
    if (entry.size() > 3) result.emplace_back(entry.substr(3));
  }
  return result;
}

}  // namespace

std::vector<std::string> dirty_files(const std::string& folder,
                                     const std::vector<std::string>& files) {
  auto dirty = entries(
      output_of({"git", "-C", folder, "status", "--porcelain=v1", "-z", "--untracked-files=no"}));
  if (files.empty()) return dirty;
  std::vector<std::string> command{"git", "status", "--porcelain=v1", "-z", "--untracked-files=all",
                                   "--"};
  command.insert(command.end(), files.begin(), files.end());
  for (std::string& path : entries(output_of(std::move(command)))) {
    if (std::find(dirty.begin(), dirty.end(), path) == dirty.end())
      dirty.push_back(std::move(path));
  }
  return dirty;
}

}  // namespace torchport::cli
