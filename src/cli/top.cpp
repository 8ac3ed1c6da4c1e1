// Implements `torchport top`: how busy the devices are, and what a command or a process takes of
// them.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/process.h"
#include "base/temporary_folder.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "host/usage/process_usage.h"
#include "host/usage/usage.h"
#include "host/usage/usage_line.h"
#include "runtime/device/accounts.h"

namespace torchport::cli::top_command {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::milliseconds kShort{200};  // between two looks, for the load of the CPU

struct TopOptions {
  double interval = 0;  // 0: one second on a terminal, ten elsewhere
  pid_t process = 0;
  bool once = false;
  bool json = false;
};

// What one look showed.
struct Look {
  std::vector<std::pair<std::string, host::Usage>> devices;
  std::optional<host::ProcessUsage> process;
};

// The figures of a device over all looks.
struct Course {
  double busy = 0;  // the sum of all that were known
  std::size_t known = 0;
  std::uint64_t most = 0;      // bytes in use by all
  std::uint64_t most_own = 0;  // bytes in use by the watched process
  std::uint64_t total = 0;
};

std::uint64_t own_memory(const host::Usage& usage, const host::ProcessUsage& process) {
  std::uint64_t bytes = 0;
  for (const auto& [number, used] : usage.processes)
    bytes += process.processes.contains(number) ? used : 0;
  return bytes;
}

std::string process_line(const host::ProcessUsage& usage) {
  const std::size_t count = usage.processes.size();
  return fmt::format("{:8} {:.1f} cores  memory {}  {} process{}", "process", usage.cores,
                     base::format_bytes(usage.resident, 2), count, count == 1 ? "" : "es");
}

std::vector<std::string> lines_of(const Look& look) {
  std::vector<std::string> lines;
  for (const auto& [name, usage] : look.devices) {
    std::string line = host::usage_line(name, usage);
    if (look.process) {
      if (const std::uint64_t own = own_memory(usage, *look.process); own > 0)
        line += fmt::format(", {} of the process", base::format_bytes(own, 2));
    } else if (!usage.processes.empty()) {
      line += "  by";
      for (const auto& [number, used] : usage.processes)
        line += fmt::format(" {} ({})", number, base::format_bytes(used, 2));
    }
    lines.push_back(std::move(line));
  }
  if (look.process) lines.push_back(process_line(*look.process));
  return lines;
}

std::string json_of(const Look& look) {
  nlohmann::ordered_json line;
  line["time"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  for (const auto& [name, usage] : look.devices) {
    nlohmann::ordered_json device{{"name", name},
                                  {"busy", nullptr},
                                  {"used_bytes", usage.used},
                                  {"total_bytes", usage.total}};
    if (usage.busy) device["busy"] = *usage.busy;
    for (const auto& [number, used] : usage.processes)
      device["processes"].push_back({{"pid", number}, {"used_bytes", used}});
    line["devices"].push_back(std::move(device));
  }
  if (look.process) {
    line["process"] = {{"pids", look.process->processes},
                       {"cores", look.process->cores},
                       {"resident_bytes", look.process->resident}};
  }
  return line.dump();
}

// Looks at everything, draws it, and keeps what the end needs.
class Top {
 public:
  Top(const TopOptions& options, std::FILE* to)
      : options_(options), drawing_(to), to_(to), devices_(host::devices_to_watch()) {
    // The first look has no earlier one to compare with.
    for (const auto& device : devices_) static_cast<void>(device.source->look());
  }

  void watch(pid_t process, const std::string& accounts) {
    tree_.emplace(base::real_file_system(), process);
    accounts_ = accounts;
    static_cast<void>(tree_->look(0));
  }

  [[nodiscard]] std::chrono::milliseconds interval() const {
    constexpr double kTerminal = 1;
    constexpr double kLog = 10;
    const double seconds =
        options_.interval > 0 ? options_.interval : (drawing_.replaces() ? kTerminal : kLog);
    return std::chrono::duration_cast<std::chrono::milliseconds>(Seconds(seconds));
  }

  // Whether the watched process still runs.
  bool look(bool draws) {
    const auto now = Clock::now();
    Look look;
    if (tree_) look.process = tree_->look(Seconds(now - last_).count());
    last_ = now;
    for (const auto& device : devices_)
      look.devices.emplace_back(device.name, device.source->look());
    if (!accounts_.empty()) {
      add_virtual_devices(look);
    }
    keep(look);
    if (draws && options_.json)
      fmt::print(to_, "{}\n", json_of(look));
    else if (draws)
      drawing_.draw(lines_of(look));
    std::fflush(to_);
    return !look.process || !look.process->processes.empty();
  }

  void models() const {
    if (options_.json) return;
    for (const auto& device : devices_)
      if (!device.model.empty()) fmt::print(to_, "{:8} {}\n", device.name, device.model);
  }

  // What the watched command took, after its end.
  void summary(const std::string& command, const std::string& end) const {
    const double seconds = Seconds(Clock::now() - begin_).count();
    if (options_.json) return;
    fmt::print(to_, "torchport top: {}: {:.1f} s, {}\n", command, seconds, end);
    // A command may end before the first look; the system knows its largest process.
    rusage children{};
    getrusage(RUSAGE_CHILDREN, &children);
    const auto largest = static_cast<std::uint64_t>(children.ru_maxrss) * 1024;
    for (const auto& [name, course] : courses_) {
      std::string line = fmt::format("{:8}", name);
      if (course.known > 0)
        line += fmt::format(" busy {:.0f} % on average,",
                            course.busy / static_cast<double>(course.known) * 100);
      line += fmt::format(" memory at most {}", base::format_bytes(course.most, 2));
      if (course.total > 0) line += " of " + base::format_bytes(course.total, 2);
      if (course.most_own > 0)
        line += fmt::format(", {} of the command", base::format_bytes(course.most_own, 2));
      fmt::print(to_, "{}\n", line);
    }
    fmt::print(to_, "{:8} {:.1f} cores at most, memory at most {}\n", "process", most_cores_,
               base::format_bytes(std::max(most_resident_, largest), 2));
  }

 private:
  // A virtual device takes the place of a real one of the same name.
  void add_virtual_devices(Look& look) const {
    std::map<std::string, host::Usage> devices;
    for (const auto& [process, accounts] :
         device::read_accounts(base::real_file_system(), accounts_)) {
      if (!look.process->processes.contains(process)) continue;  // it has ended
      for (const device::Account& account : accounts) {
        host::Usage& usage = devices[account.name];
        usage.total = account.total;
        usage.used += account.used;
        usage.processes[process] = account.used;
      }
    }
    std::erase_if(look.devices, [&](const auto& known) { return devices.contains(known.first); });
    look.devices.insert(look.devices.begin(), devices.begin(), devices.end());
  }

  void keep(const Look& look) {
    for (const auto& [name, usage] : look.devices) {
      Course& course = courses_[name];
      if (usage.busy) {
        course.busy += *usage.busy;
        ++course.known;
      }
      course.most = std::max(course.most, usage.used);
      course.total = usage.total;
      if (look.process)
        course.most_own = std::max(course.most_own, own_memory(usage, *look.process));
    }
    if (!look.process) return;
    most_cores_ = std::max(most_cores_, look.process->cores);
    most_resident_ = std::max(most_resident_, look.process->resident);
  }

  const TopOptions& options_;
  host::Drawing drawing_;
  std::FILE* to_;
  std::vector<host::WatchedDevice> devices_;
  std::optional<host::ProcessTree> tree_;
  std::string accounts_;  // the folder of virtual devices' accounts; empty for none
  std::map<std::string, Course> courses_;
  double most_cores_ = 0;
  std::uint64_t most_resident_ = 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

int usage_error(std::string message) {
  print_error({base::ErrorCode::kUsage, std::move(message), {}, 0});
  return kUsageError;
}

// Sleeps in parts, so that Ctrl-C ends it at once.
bool waits(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kPart{50};
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
    if (interrupted()) return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(kPart, end - Clock::now()));
  }
  return !interrupted();
}

int watch_command(const TopOptions& options, const std::vector<std::string>& words) {
  Top top(options, stderr);
  const auto accounts = base::TemporaryFolder::make("torchport-top");
  if (!accounts) return usage_error(accounts.error().message);
  setenv(device::kAccountsVariable, accounts->path().c_str(), 1);
  // The figures are read more often than they are shown: a peak may be short.
  constexpr std::chrono::milliseconds kLooks{100};
  const auto step = std::min(kLooks, top.interval());
  auto shown = Clock::now();
  bool first = true;
  const auto ended = base::run_in_foreground({.words = words}, step, [&](pid_t process) {
    if (first) top.watch(process, accounts->path());
    first = false;
    const bool draws = Clock::now() - shown >= top.interval();
    if (draws) shown = Clock::now();
    top.look(draws);
  });
  if (!ended)
    return usage_error(fmt::format("cannot start {}: {}", words.front(), ended.error().message));
  const std::string end = ended->signal != 0 ? fmt::format("ended by signal {}", ended->signal)
                                             : fmt::format("exit {}", ended->exit_code);
  top.summary(fmt::format("{}", fmt::join(words, " ")), end);
  return ended->status();
}

int watch_process(const TopOptions& options) {
  Top top(options, stdout);
  const std::string name = host::ProcessTree(base::real_file_system(), options.process).name();
  if (name.empty()) return usage_error(fmt::format("there is no process {}", options.process));
  top.watch(options.process, {});
  bool runs = true;
  while (runs && waits(options.once ? kShort : top.interval())) {
    runs = top.look(true);
    if (options.once) return kClean;
  }
  top.summary(fmt::format("{} ({})", name, options.process), runs ? "still runs" : "ended");
  return kClean;
}

int top(const TopOptions& options, const std::vector<std::string>& rest) {
  if (std::isnan(options.interval)) return usage_error("--interval is no number of seconds");
  if (!rest.empty())
    return usage_error(fmt::format("{}: a command comes after `--`, as in `torchport top -- {}`",
                                   rest.front(), fmt::join(rest, " ")));
  if (const auto& command = after_dashes()) {
    if (command->empty()) return usage_error("there is no command after `--`");
    if (options.process != 0) return usage_error("--pid and a command exclude each other");
    if (options.once) return usage_error("--once does not apply to a command");
    return watch_command(options, *command);
  }
  if (options.process != 0) return watch_process(options);
  Top all(options, stdout);
  all.models();
  while (waits(options.once ? kShort : all.interval())) {
    all.look(true);
    if (options.once) break;
  }
  return kClean;
}

void attach(CLI::App& app) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* sub = app.add_subcommand(
      "top", "Show how busy the devices are, and what a command or a process takes of them");
  sub->prefix_command();
  sub->footer(
      "Usage:\n"
      "  torchport top                          all devices, until Ctrl-C\n"
      "  torchport top --pid N                  and one process with its children\n"
      "  torchport top -- COMMAND [ARGS...]     runs a command; its figures go to standard error,\n"
      "                                         and the exit code is the command's\n\n"
      "Figures of GPUs come from NVML or the amdgpu driver, those of virtual devices from the\n"
      "command itself.");
  sub->add_option("--interval", options->interval,
                  "Seconds between two drawings (default: 1 on a terminal, else 10)")
      ->check(CLI::Range(0.1, 86400.0))
      ->type_name("SECONDS");
  sub->add_option("--pid", options->process, "The process to watch, with its children")
      ->check(CLI::Range(1, std::numeric_limits<pid_t>::max()))
      ->type_name("N");
  sub->add_flag("--once", options->once, "Look once and end");
  sub->add_flag("--json", options->json, "Write one line of JSON for each look");
  sub->callback([options, sub] { set_exit_code(top(*options, sub->remaining())); });
}

const CommandRegistration kRegistered{{.order = 12, .attach = &attach, .takes_rest = "top"}};

}  // namespace

}  // namespace torchport::cli::top_command
