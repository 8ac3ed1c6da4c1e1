#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/probe.h"

extern char** environ;  // NOLINT(readability-identifier-naming): POSIX

namespace torchport::host {

namespace {

constexpr int kMostMilliseconds = 2000;

DeviceNode node_at(const std::string& path) {
  DeviceNode node{path, access(path.c_str(), R_OK | W_OK) == 0, {}};
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    if (const group* owner = getgrgid(status.st_gid)) node.group = owner->gr_name;
  }
  return node;
}

long milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// What comes out of the pipe until it is closed; false past the limit.
bool read_all(int pipe, std::string& text) {
  const long end = milliseconds() + kMostMilliseconds;
  for (;;) {
    const long left = end - milliseconds();
    pollfd waiting{pipe, POLLIN, 0};
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) <= 0) return false;
    std::array<char, 4096> part{};
    const ssize_t got = read(pipe, part.data(), part.size());
    if (got <= 0) return got == 0;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > 65536) return false;
  }
}

std::string output_of(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // A group of its own, so that what it starts ends with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words.front(), &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  std::string text;
  const bool whole = error == 0 && read_all(ends[0], text);
  close(ends[0]);
  if (error != 0) return {};
  if (!whole) kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::string();
}

}  // namespace

Machine this_machine(const std::string& prefix) {
  Machine machine;
  machine.files = &base::real_file_system();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos)
      machine.environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  if (!prefix.empty()) machine.prefixes.push_back(prefix);
  for (const char* usual : {"/usr/local", "/usr"}) machine.prefixes.emplace_back(usual);
  machine.node = &node_at;
  machine.output = &output_of;
  return machine;
}

}  // namespace torchport::host
