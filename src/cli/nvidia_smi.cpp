// Implements `torchport nvidia-smi`: the tool of NVIDIA's driver for virtual devices.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/file_system.h"
#include "base/result.h"
#include "base/text.h"
#include "cli/command.h"
#include "runtime/device/accounts.h"
#include "runtime/device/driver_tool.h"
#include "runtime/device/spec.h"

namespace torchport::cli::nvidia_smi_command {

namespace {

using device::ManagedDevice;

constexpr const char* kHelp =
    "Usage: nvidia-smi [options]\n\n"
    "Tells of the virtual devices of `torchport run`, as the tool of NVIDIA's driver tells of "
    "real\n"
    "ones. Under `torchport run`, nvidia-smi on the PATH is this one.\n\n"
    "  -L, --list-gpus               the devices and their UUIDs\n"
    "  --query-gpu=FIELD,...         a line for each device: name, memory.used, memory.total, ...\n"
    "  --query-compute-apps=FIELD,...  a line for each process on a device: pid, used_memory, ...\n"
    "  --format=csv[,noheader][,nounits]\n"
    "  -i, --id=NUMBER or UUID,...   only these devices\n"
    "  -l, --loop=SECONDS and -lms, --loop-ms=MILLISECONDS   again and again\n"
    "  -f, --filename=FILE           write to a file\n";

// nvidia-smi's exit code for an argument that it does not know.
constexpr int kInvalidArgument = 2;
// And if there is no device or driver.
constexpr int kNoDriver = 9;

struct SmiOptions {
  bool help = false;
  bool list = false;
  std::vector<std::string> fields;
  bool of_processes = false;
  std::optional<device::QueryFormat> format;
  std::vector<std::string> ids;
  std::string file;
  std::optional<std::chrono::milliseconds> every;
};

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (const std::string_view part : base::split(text, ',')) parts.emplace_back(base::trim(part));
  return parts;
}

// Reads the words of the command line; the message if one is wrong.
class SmiWords {
 public:
  explicit SmiWords(const std::vector<std::string>& words) : words_(words) {}

  std::optional<std::string> read(SmiOptions& options) {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
      value_ = equals == std::string::npos ? std::nullopt : std::optional(word.substr(equals + 1));
      if (!take(word.substr(0, equals), options))
        return fmt::format(
            "Invalid combination of input arguments. Please run 'nvidia-smi -h' for "
            "help.\n\n`{}` is not there for virtual devices.\n",
            word);
    }
    if (!options.fields.empty() && !options.format)
      return "\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n";
    return std::nullopt;
  }

 private:
  std::string value() {
    if (value_) return *value_;
    return at_ < words_.size() ? words_[at_++] : "";
  }

  bool take(const std::string& name, SmiOptions& options) {
    if (name == "-h" || name == "--help") {
      options.help = true;
    } else if (name == "-L" || name == "--list-gpus") {
      options.list = true;
    } else if (name == "--query-gpu" || name == "--query-compute-apps") {
      options.fields = parts_of(value());
      options.of_processes = name == "--query-compute-apps";
    } else if (name == "--format") {
      return take_format(parts_of(value()), options);
    } else if (name == "-i" || name == "--id") {
      options.ids = parts_of(value());
    } else if (name == "-f" || name == "--filename") {
      options.file = value();
    } else if (name == "-l" || name == "--loop") {
      return take_time(std::chrono::seconds(1), options);
    } else if (name == "-lms" || name == "--loop-ms") {
      return take_time(std::chrono::milliseconds(1), options);
    } else {
      return false;
    }
    return true;
  }

  static bool take_format(const std::vector<std::string>& words, SmiOptions& options) {
    options.format.emplace();
    bool csv = false;
    for (const std::string& word : words) {
      if (word == "csv")
        csv = true;
      else if (word == "noheader")
        options.format->header = false;
      else if (word == "nounits")
        options.format->units = false;
      else
        return false;
    }
    return csv;
  }

  bool take_time(std::chrono::milliseconds unit, SmiOptions& options) {
    std::int64_t count = 0;
    if (!CLI::detail::lexical_cast(value(), count) || count <= 0) return false;
    options.every = count * unit;
    return true;
  }

  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  std::optional<std::string> value_;  // what a word has after "="
};

std::vector<std::pair<pid_t, std::vector<device::Account>>> all_accounts() {
  auto all = device::accounts_of_run();
  if (const char* folder = std::getenv(device::kAccountsVariable)) {
    const auto own = device::read_accounts(base::real_file_system(), folder);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

// The devices that -i names; all without it. Fails with the tool's words.
base::Result<std::vector<ManagedDevice>> chosen(const device::Spec& spec,
                                                const std::vector<std::string>& ids) {
  std::vector<ManagedDevice> all = device::managed_devices(spec, all_accounts());
  if (ids.empty()) return all;
  std::vector<ManagedDevice> found;
  for (const std::string& id : ids) {
    const auto one = std::find_if(all.begin(), all.end(), [&](const ManagedDevice& each) {
      return each.uuid == id || std::to_string(each.number) == id;
    });
    if (one == all.end())
      return base::fail(base::ErrorCode::kUsage,
                        fmt::format("No devices were found: there is no device {}\n", id));
    found.push_back(*one);
  }
  return found;
}

base::Result<std::string> text_of(const SmiOptions& options,
                                  const std::vector<ManagedDevice>& devices) {
  const std::time_t now = std::time(nullptr);
  const std::tm local = fmt::localtime(now);
  if (options.list) return device::list_of_devices(devices);
  if (options.fields.empty())
    return device::table_of_devices(devices, fmt::format("{:%a %b %e %H:%M:%S %Y}", local));
  const std::string time = fmt::format("{:%Y/%m/%d %H:%M:%S}.000", local);
  return options.of_processes
             ? device::query_processes(devices, options.fields, *options.format, time)
             : device::query_devices(devices, options.fields, *options.format, time);
}

int run_smi(const std::vector<std::string>& words) {
  SmiOptions options;
  if (const auto wrong = SmiWords(words).read(options)) {
    fmt::print("{}", *wrong);  // where the tool of the driver writes it
    return kInvalidArgument;
  }
  if (options.help) {
    fmt::print("{}", kHelp);
    return kClean;
  }
  const char* variable = std::getenv(device::kVariable);
  const auto spec = device::parse_spec(variable == nullptr ? "none" : variable);
  if (!spec || spec->kind != "cuda" || spec->profile == nullptr) {
    fmt::print(
        "NVIDIA-SMI has failed because there are no virtual CUDA devices. Start it, or the program "
        "that starts it, by `torchport run`.\n");
    return kNoDriver;
  }
  std::FILE* const to = options.file.empty() ? stdout : std::fopen(options.file.c_str(), "we");
  if (to == nullptr) {
    fmt::print("Failed to open {} for writing\n", options.file);
    return kInvalidArgument;
  }
  int code = kClean;
  do {
    const auto text = chosen(*spec, options.ids).and_then([&](const auto& devices) {
      return text_of(options, devices);
    });
    if (!text) {
      fmt::print("{}", text.error().message);
      code = kInvalidArgument;
      break;
    }
    fmt::print(to, "{}", *text);
    std::fflush(to);
    if (options.format) options.format->header = false;  // it is told once
  } while (options.every && (std::this_thread::sleep_for(*options.every), !interrupted()));
  if (to != stdout) std::fclose(to);
  return code;
}

void attach(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "nvidia-smi", "Tell of virtual devices as the tool of NVIDIA's driver does of real ones");
  command->prefix_command();
  command->set_help_flag();
  command->callback([command] { set_exit_code(run_smi(command->remaining())); });
}

const CommandRegistration kRegistered{{.order = 7, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::nvidia_smi_command
