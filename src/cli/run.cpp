// Implements `torchport run`: starts a program on virtual devices. This process becomes the
// program.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file_system.h"
#include "base/tell.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/package.h"
#include "cli/python.h"
#include "cli/terminal.h"
#include "runtime/device/accounts.h"
#include "runtime/device/memory_model.h"
#include "runtime/device/spec.h"
#include "runtime_build/needs.h"

namespace torchport::cli::run_command {

namespace {

struct RunOptions {
  std::string devices;
  std::string memory;
  std::string profile;
  std::string random;
  std::string data;
  std::string report;
  std::string report_file;
  std::string errors = "device";
  std::string streams = "at-once";
  std::string tf32 = "off";
  bool hide_cuda = false;
  bool quiet = false;
  bool check_kernels = false;
  bool no_data = false;
  int ranks = 0;
};

int usage(std::string message) {
  print_error({base::ErrorCode::kUsage, std::move(message), {}, 0});
  return kUsageError;
}

// Turns the options into a device spec.
base::Result<device::Spec> spec_of(const RunOptions& options) {
  if (options.hide_cuda) return device::parse_spec("none");
  // A host of many ranks has eight devices, as most have.
  std::string text = options.devices.empty()
                         ? fmt::format("cuda:{}", std::clamp(options.ranks, 1, 8))
                         : options.devices;
  if (!options.memory.empty()) text += ",memory=" + options.memory;
  if (!options.profile.empty()) text += ",profile=" + options.profile;
  if (!options.random.empty()) text += ",random=" + options.random;
  if (options.no_data || !options.data.empty())
    text += ",data=" + (options.data.empty() ? "64KiB" : options.data);
  return device::parse_spec(text);
}

std::string announcement(const device::Spec& spec) {
  if (spec.kind == "none") return "torchport: no CUDA device, even if this host has one";
  return fmt::format(
      "torchport: {} virtual {} device{}, {} of {} each, {}; random numbers as {} draws them",
      spec.count, spec.kind, spec.count == 1 ? "" : "s", spec.profile->device_name,
      base::format_bytes_as_c10(spec.memory),
      spec.data
          ? fmt::format("without values in tensors above {}", base::format_bytes_as_c10(*spec.data))
          : "computed by this host's CPU",
      spec.random == device::RandomNumbers::kDevice ? "that device" : "the CPU");
}

// Whether a file is a program of the machine, or a script that is not Python's by its first line.
bool starts_by_itself(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || access(path.c_str(), X_OK) != 0)
    return false;
  std::ifstream file(path, std::ios::binary);
  std::string first;
  std::getline(file, first);
  return first.starts_with(
             "\x7F"
             "ELF") ||
         (first.starts_with("#!") && first.find("python") == std::string::npos);
}

// The command to start: the words after `--` as they are, a file that starts by itself, else Python
// with a script or `-m`.
base::Result<std::vector<std::string>> command_of(std::vector<std::string> rest) {
  if (auto& command = after_dashes()) {
    if (rest.empty() && !command->empty()) return *command;
    rest.emplace_back("--");  // the script's own `--`
    rest.insert(rest.end(), command->begin(), command->end());
  }
  if (rest.empty() || rest.front() == "--")
    return base::fail(base::ErrorCode::kUsage,
                      "nothing to run; write `torchport run train.py`, `torchport run -m "
                      "pkg.train` or `torchport run -- pytest tests`");
  const bool module = rest.front() == "-m";
  if (module && rest.size() < 2)
    return base::fail(base::ErrorCode::kUsage, "-m needs the name of a module, e.g. -m pkg.train");
  if (!module && rest.front().starts_with('-'))
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("unknown option {}; options come before the script", rest.front()));
  if (!module && !std::filesystem::exists(rest.front()))
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("no such file: {}; a command that is not a Python script must come after `--`",
                    rest.front()));
  if (!module && starts_by_itself(rest.front())) {
    rest.front() = std::filesystem::absolute(rest.front()).string();
  } else {
    rest.insert(rest.begin(), python_of_this_environment());
  }
  return rest;
}

// Whether the command belongs to the environment of this program, whose Python sets virtual devices
// up by itself.
bool is_of_this_environment(const std::string& command) {
  const std::string program =
      runtime_build::program_in(base::real_file_system(), environment("PATH"), command);
  std::error_code error;
  return std::filesystem::equivalent(std::filesystem::absolute(program, error).parent_path(),
                                     own_folder(), error);
}

// Makes the process that follows the first of many ranks, of which the others are assumed to be
// alike, with the variables that torchrun sets.
void stand_for_ranks(int ranks, int devices) {
  const std::string count = std::to_string(ranks);
  const std::string local = std::to_string(std::min(ranks, devices));
  setenv("TORCHPORT_RANKS", count.c_str(), 1);
  for (const char* name : {"RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK"}) setenv(name, "0", 1);
  for (const char* name : {"WORLD_SIZE", "ROLE_WORLD_SIZE"}) setenv(name, count.c_str(), 1);
  setenv("LOCAL_WORLD_SIZE", local.c_str(), 1);
  setenv("MASTER_ADDR", "localhost", 1);
  setenv("MASTER_PORT", "29500", 1);
  setenv("TORCHELASTIC_RUN_ID", "torchport", 1);
}

// Whether a command starts the ranks by itself.
bool starts_ranks(const std::vector<std::string>& command) {
  return std::any_of(command.begin(), command.end(), [](const std::string& word) {
    const std::string name = std::filesystem::path(word).filename().string();
    return name == "torchrun" || name == "torch.distributed.run" ||
           name == "torch.distributed.launch";
  });
}

// Builds that the program starts find nvcc and CUDA_HOME of the virtual devices.
void show_toolkit() {
  const auto package = package_folder();
  if (!package) return;
  const std::string home = *package + "/lib/cuda";
  setenv("CUDA_HOME", home.c_str(), 1);
  setenv("CUDA_PATH", home.c_str(), 1);
  setenv("TORCHPORT_PROGRAM", (own_folder() / "torchport").c_str(), 1);
  const auto prepend = [](const char* variable, const std::string& folder) {
    const std::string before = environment(variable);
    setenv(variable, (folder + (before.empty() ? "" : ":") + before).c_str(), 1);
  };
  prepend("PATH", home + "/bin");
  // A program that CMake linked does not say where CUDA's runtime is.
  prepend("LD_LIBRARY_PATH", home + "/lib64");
}

int run(const RunOptions& options, const std::vector<std::string>& rest) {
  const auto spec = spec_of(options);
  if (!spec) return usage(spec.error().message);
  auto command = command_of(rest);
  if (!command) return usage(command.error().message);
  if (options.ranks > 0) {
    if (starts_ranks(*command))
      return usage(
          "--ranks runs one process for all ranks; write the script alone, without torchrun");
    stand_for_ranks(options.ranks, spec->count);
  }
  setenv(device::kVariable, spec->text().c_str(), 1);
  setenv(device::kRunVariable,
         fmt::format("{}-{}", getpid(), std::chrono::system_clock::now().time_since_epoch().count())
             .c_str(),
         1);
  setenv("TORCHPORT_ERRORS", options.errors.c_str(), 1);
  setenv("TORCHPORT_STREAMS", options.streams.c_str(), 1);
  setenv("TORCHPORT_TF32", options.tf32.c_str(), 1);
  if (!options.report.empty()) {
    const std::string file =
        options.report_file.empty() ? "" : std::filesystem::absolute(options.report_file).string();
    setenv("TORCHPORT_REPORT", (options.report + ":" + file).c_str(), 1);
    // This process becomes the program. Processes that it starts write reports of their own beside
    // it.
    setenv("TORCHPORT_REPORT_PID", std::to_string(getpid()).c_str(), 1);
  }
  if (!is_of_this_environment(command->front())) show_package_to_python();
  if (spec->kind == "cuda") show_toolkit();
  if (options.check_kernels) setenv("TORCHPORT_CHECK_KERNELS", "1", 1);
  if (!options.quiet) base::tell("{}\n", announcement(*spec));
  if (!options.quiet && options.ranks > 0)
    base::tell("torchport: this is rank 0 of {}; the other ranks are assumed to be alike\n",
               options.ranks);
  std::fflush(nullptr);
  std::vector<char*> words;
  for (std::string& word : *command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  return usage(fmt::format("cannot start {}: {}", command->front(), std::strerror(errno)));
}

// The formats that python/torchport/virtual/_watching.py writes. A test compares the two lists.
std::vector<std::string> report_formats() {
  static constexpr std::string_view kFormats =
#include "report_formats.inc"
      ;
  std::vector<std::string> names;
  for (const std::string_view name : base::split(kFormats, '\n'))
    if (!name.empty()) names.emplace_back(name);
  return names;
}

void attach(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand(
      "run", "Run a CUDA program on virtual devices, on a machine without a GPU");
  sub->prefix_command();
  sub->footer(
      "Usage:\n"
      "  torchport run [OPTIONS] SCRIPT [ARGS...]\n"
      "  torchport run [OPTIONS] -m MODULE [ARGS...]\n"
      "  torchport run [OPTIONS] -- COMMAND [ARGS...]      pytest, torchrun, ...\n\n"
      "Processes that the program starts see the same devices. The exit code is the program's.");
  sub->add_option("--devices", options->devices,
                  fmt::format("The virtual devices, N of one kind: {} (default: cuda:1; with "
                              "--ranks, up to cuda:8)",
                              devices::kind_names()))
      ->type_name("KIND:N");
  sub->add_option("--memory", options->memory, "Memory of each device, e.g. 16GiB")
      ->type_name("SIZE");
  sub->add_option("--profile", options->profile,
                  "The model that the devices claim to be, e.g. a100-80g, t4, or a TOML file")
      ->type_name("NAME");
  sub->add_option("--random", options->random,
                  "Draw the random numbers of the real device, or those of the CPU (default: "
                  "device for cuda, cpu for other kinds)")
      ->check(CLI::IsMember({"device", "cpu"}))
      ->type_name("WHOSE");
  sub->add_flag("--no-data", options->no_data,
                "Tensors of the devices have shapes and memory, but no values: nothing large is "
                "computed, so that the memory of a model is found that this host cannot compute");
  sub->add_option("--keep-data", options->data,
                  "With --no-data: tensors up to this size are computed (default: 64KiB)")
      ->type_name("SIZE");
  sub->add_option("--ranks", options->ranks,
                  "Run one process as rank 0 of N: the other ranks are assumed to be alike")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N");
  sub->add_flag("--hide-cuda", options->hide_cuda,
                "Hide all CUDA devices, also those of real GPUs");
  sub->add_option("--report", options->report,
                  "Report devices, peak memory, operators and transfers when the program ends")
      ->check(CLI::IsMember(report_formats()));
  sub->add_option("--report-file", options->report_file,
                  "The file to write the report to (default: standard error)")
      ->type_name("FILE");
  sub->add_option("--errors", options->errors,
                  "When an index out of range is an error. device: as on a GPU, by a device-side "
                  "assert at the next call that waits for the device, and a line says where it "
                  "happened. at-once: a Python error at the call (default: device)")
      ->check(CLI::IsMember({"device", "at-once"}));
  sub->add_option(
         "--streams", options->streams,
         "When the work of a CUDA stream is done. at-once: when the call returns. late: when "
         "somebody has waited for it; work of another stream that does not wait is reported "
         "with both lines, and reads NaN (default: at-once)")
      ->check(CLI::IsMember({"at-once", "late"}));
  sub->add_option(
         "--tf32", options->tf32,
         "Whether products and convolutions of float32 that the program lets use TF32 lose "
         "bits as on a GPU of compute capability 8.0 or higher (default: off)")
      ->check(CLI::IsMember({"off", "on"}));
  sub->add_flag(
      "--check-kernels", options->check_kernels,
      "Check kernels of CUDA C++ for accesses out of bounds, races, barriers in divergent "
      "code and leaks; extensions are built anew for it");
  sub->add_flag("-q,--quiet", options->quiet, "Do not print which virtual devices there are");
  sub->callback([options, sub] { set_exit_code(run(*options, sub->remaining())); });
}

const CommandRegistration kRegistered{{.order = 5, .attach = &attach, .takes_rest = "run"}};

}  // namespace

}  // namespace torchport::cli::run_command
