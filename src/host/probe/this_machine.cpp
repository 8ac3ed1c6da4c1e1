#include <array>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <grp.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/probe/isolated.h"
#include "host/probe/probe.h"

// POSIX: NOLINTNEXTLINE(readability-identifier-naming,readability-redundant-declaration)
extern char** environ;

namespace torchport::host {

namespace {

constexpr int kMostMilliseconds = 2000;
constexpr std::size_t kMostOutput = 65536;

DeviceNode node_at(const std::string& path) {
  DeviceNode node{path, access(path.c_str(), R_OK | W_OK) == 0, {}};
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    if (const group* owner = getgrgid(status.st_gid)) node.group = owner->gr_name;
  }
  return node;
}

std::string output_of(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // The child leads a process group of its own, so that the processes that it starts are killed
  // with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words.front(), &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  auto text = error == 0 ? read_pipe(ends[0], kMostMilliseconds, kMostOutput) : std::nullopt;
  close(ends[0]);
  if (error != 0) return {};
  // The program may still run after its output has ended.
  const bool well = finish(child, text ? kMostMilliseconds : 0);
  return well && text ? *text : std::string();
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
