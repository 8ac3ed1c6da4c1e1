#include "host/usage/process_usage.h"

#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace torchport::host {

namespace {

// The fields of /proc/N/stat that are needed.
struct Stat {
  std::string name;
  char state = '?';
  pid_t parent = 0;
  std::uint64_t ticks = 0;  // of all cores, in user and in kernel mode
  std::uint64_t pages = 0;  // resident
};

std::optional<Stat> stat_of(const base::FileSystem& files, const std::string& process) {
  const auto text = files.read("/proc/" + process + "/stat");
  if (!text) return std::nullopt;
  // The name is in parentheses and may have any characters, also parentheses.
  const std::size_t open = text->find('(');
  const std::size_t close = text->rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  Stat stat;
  stat.name = text->substr(open + 1, close - open - 1);
  std::istringstream rest(text->substr(close + 1));
  rest >> stat.state >> stat.parent;
  std::string skipped;
  for (int field = 5; field <= 13; ++field) rest >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  rest >> user >> system;
  for (int field = 16; field <= 23; ++field) rest >> skipped;
  rest >> stat.pages;
  stat.ticks = user + system;
  return rest ? std::optional(stat) : std::nullopt;
}

}  // namespace

std::string ProcessTree::name() const {
  const auto stat = stat_of(files_, std::to_string(root_));
  return stat ? stat->name : std::string();
}

ProcessUsage ProcessTree::look(double seconds) {
  ProcessUsage usage;
  const auto entries = files_.list("/proc");
  if (!entries) return usage;
  std::map<pid_t, Stat> all;
  for (const auto& entry : *entries) {
    pid_t number = 0;
    const char* const end = entry.name.data() + entry.name.size();
    if (std::from_chars(entry.name.data(), end, number).ptr != end) continue;
    if (auto stat = stat_of(files_, entry.name)) all.emplace(number, std::move(*stat));
  }
  known_.insert(root_);
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [number, stat] : all) {
      if (known_.contains(stat.parent)) grows |= known_.insert(number).second;
    }
  }
  std::erase_if(known_, [&](pid_t number) {
    const auto found = all.find(number);
    return found == all.end() || found->second.state == 'Z';
  });
  std::uint64_t passed = 0;
  std::map<pid_t, std::uint64_t> ticks;
  for (const pid_t number : known_) {
    const Stat& stat = all.at(number);
    const auto before = ticks_.find(number);
    passed += stat.ticks - (before == ticks_.end() ? 0 : std::min(before->second, stat.ticks));
    ticks[number] = stat.ticks;
    usage.resident += stat.pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }
  usage.processes = known_;
  if (looked_ && seconds > 0)
    usage.cores = static_cast<double>(passed) / static_cast<double>(sysconf(_SC_CLK_TCK)) / seconds;
  ticks_ = std::move(ticks);
  looked_ = true;
  return usage;
}

}  // namespace torchport::host
