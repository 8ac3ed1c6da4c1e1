#include <cerrno>
#include <chrono>
#include <string_view>

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "host/probe/probe.h"

// POSIX: NOLINTNEXTLINE(readability-identifier-naming,readability-redundant-declaration)
extern char** environ;

namespace torchport::host {

namespace {

constexpr std::chrono::seconds kProgramTimeLimit{2};
constexpr std::size_t kMostOutput = 65536;

DeviceNode node_at(const std::string& path) {
  DeviceNode node{path, access(path.c_str(), R_OK | W_OK) == 0, {}};
  // The rights of the file give EACCES, a control group EPERM.
  node.denied = !node.readable && errno == EPERM;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    if (const group* owner = getgrgid(status.st_gid)) node.group = owner->gr_name;
  }
  return node;
}

std::string output_of(const std::vector<std::string>& command) {
  auto ended = base::run({.words = command,
                          .errors_file = base::kNowhere,
                          .most_output = kMostOutput,
                          .time_limit = kProgramTimeLimit});
  return ended && ended->well() ? std::move(ended->output) : std::string();
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
