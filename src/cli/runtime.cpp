// Implements `torchport runtime`: the libraries for each torch, and compiling them for one that the
// package has none for.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file_system.h"
#include "base/tell.h"
#include "cli/command.h"
#include "cli/package.h"
#include "cli/python.h"
#include "cli/terminal.h"
#include "runtime_build/build.h"
#include "runtime_build/choice.h"
#include "runtime_build/needs.h"
#include "runtime_build/probe.h"

namespace torchport::cli::runtime_command {

namespace {

using runtime_build::Places;
using runtime_build::Runtime;
using runtime_build::TorchFiles;

constexpr int kInterruptedCode = 130;

struct RuntimeOptions {
  std::string torch;  // a folder; empty for the torch of the active environment
  bool json = false;
  bool again = false;
  int jobs = 0;
};

int refuse(const base::Error& error) {
  print_error(error);
  return kUsageError;
}

base::Result<TorchFiles> torch_of(const RuntimeOptions& options, const std::string& package) {
  const base::FileSystem& files = base::real_file_system();
  const auto root = options.torch.empty() ? torch_folder(package) : files.canonical(options.torch);
  if (!root) return tl::unexpected<base::Error>(root.error());
  return runtime_build::read_torch_files(files, *root);
}

nlohmann::ordered_json as_json(const Runtime& runtime) {
  return {{"torch", runtime.torch},
          {"git_version", runtime.git},
          {"folder", runtime.folder},
          {"serves", runtime.serves},
          {"built_here", runtime.built_here}};
}

std::string listed_as_json(const std::vector<Runtime>& runtimes,
                           const base::Result<TorchFiles>& torch,
                           const base::Result<std::string>& chosen) {
  nlohmann::ordered_json whole;
  whole["runtimes"] = nlohmann::ordered_json::array();
  for (const Runtime& runtime : runtimes) whole["runtimes"].push_back(as_json(runtime));
  whole["torch"] = nullptr;
  if (torch)
    whole["torch"] = {
        {"version", torch->version}, {"git_version", torch->git}, {"folder", torch->root}};
  whole["chosen"] = nullptr;
  if (chosen) whole["chosen"] = *chosen;
  whole["why_not"] = chosen ? "" : chosen.error().message;
  return whole.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int list(const RuntimeOptions& options) {
  const auto package = package_folder();
  if (!package) return refuse(package.error());
  const base::FileSystem& files = base::real_file_system();
  const Places places = runtime_places(*package);
  const std::vector<Runtime> runtimes = runtime_build::all_runtimes(files, places);
  const auto torch = torch_of(options, *package);
  const base::Result<std::string> chosen =
      torch ? runtime_build::choose(files, places, *torch)
            : base::Result<std::string>(tl::unexpected<base::Error>(torch.error()));
  if (options.json) {
    fmt::print("{}", listed_as_json(runtimes, torch, chosen));
    return chosen ? kClean : kFindings;
  }
  for (const Runtime& runtime : runtimes)
    fmt::print("torch {:<10} {}{}\n  {}\n", runtime.torch,
               runtime.built_here ? "built here" : "serves ",
               runtime.built_here ? "" : fmt::format("{}", fmt::join(runtime.serves, ", ")),
               runtime.folder);
  if (runtimes.empty()) fmt::print("no libraries for any torch\n");
  if (torch) fmt::print("\nthe active torch is {}, {}\n", torch->version, torch->root);
  if (chosen)
    fmt::print("it gets {}\n", *chosen);
  else
    fmt::print("{}none: {}\n", torch ? "it gets " : "\n", chosen.error().message);
  return chosen ? kClean : kFindings;
}

// Each compiler needs up to 2 GiB.
int default_jobs() {
  const long pages = sysconf(_SC_AVPHYS_PAGES);
  const long size = sysconf(_SC_PAGE_SIZE);
  const long fitting = pages > 0 && size > 0 ? (pages >> 20) * size / 2048 : 1;
  const long cores = static_cast<long>(std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp(std::min(fitting, cores), 1L, 64L));
}

// Shows one line that changes on a terminal, else a line for each tenth of the work.
class Shown {
 public:
  void operator()(const runtime_build::Progress& progress) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    const int tenth = progress.total > 0 ? 10 * progress.done / progress.total : 0;
    const bool news =
        progress.what != what_ || (terminal ? progress.done != done_ : tenth != tenth_);
    if (!news) return;
    what_ = progress.what;
    done_ = progress.done;
    tenth_ = tenth;
    const std::string count =
        progress.total > 0 ? fmt::format(" {}/{}", progress.done, progress.total) : "";
    base::tell("{}torchport: {}{}{}", terminal ? "\r\x1b[K" : "", what_, count,
               terminal ? "" : "\n");
    std::fflush(stderr);
  }

 private:
  std::string what_;
  int done_ = -1;
  int tenth_ = -1;
};

// The first folder above a path that is there.
std::string existing_parent(std::string path) {
  while (base::real_file_system().status(path, true).type != base::FileType::kDirectory &&
         path.size() > 1)
    path = std::string(base::parent_path(path));
  return path;
}

// A sentence if the disk of the cache has less room than a build takes; else empty.
std::string no_room(const Places& places) {
  struct statvfs disk {};
  const std::string folder = existing_parent(places.cache);
  if (statvfs(folder.c_str(), &disk) != 0) return {};
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free >= runtime_build::kDiskNeeded) return {};
  return fmt::format(
      "{} has {} free and compiling takes up to {}: make room, or set "
      "TORCHPORT_CACHE_DIR to a folder on another disk",
      folder, base::format_bytes(free), base::format_bytes(runtime_build::kDiskNeeded));
}

int report(const runtime_build::Built& built, const TorchFiles& torch, const Places& places) {
  using State = runtime_build::Built::State;
  clear_progress_line();
  switch (built.state) {
    case State::kDone:
      fmt::print("torchport has libraries for torch {} now: {}\n", torch.version, built.folder);
      return kClean;
    case State::kStopped:
      base::tell("torchport: interrupted; nothing is left of this build\n");
      return kInterruptedCode;
    case State::kNoSpace:
      base::tell(
          "torchport: there is no room left to write in {}; nothing is left of this build: "
          "make room, or set TORCHPORT_CACHE_DIR to a folder on another disk\n",
          places.cache);
      return kUsageError;
    case State::kFailed:
      for (const std::string& line : built.errors) base::tell("  {}\n", line);
      base::tell(
          "torchport: {} for torch {}: it may have other interfaces than the releases that "
          "torchport supports; all output is in {}\n",
          built.why, torch.version, built.log.empty() ? "no file" : built.log);
      return kFindings;
  }
  return kInternalError;
}

// Ctrl-C, the end of the terminal and `kill` all stop the build, which then deletes its files.
void stop_on_signals() {
  struct sigaction on_interrupt {};
  sigaction(SIGINT, nullptr, &on_interrupt);
  sigaction(SIGTERM, &on_interrupt, nullptr);
  sigaction(SIGHUP, &on_interrupt, nullptr);
}

// Checks all needs, and says what is missing: none then.
std::optional<runtime_build::BuildRequest> request_for(const RuntimeOptions& options,
                                                       const Places& places,
                                                       const TorchFiles& torch) {
  auto needs = runtime_build::find_needs(base::real_file_system(), places, torch,
                                         environment("PATH"), environment("CXX"));
  if (!places.cache.empty())
    if (std::string sentence = no_room(places); !sentence.empty())
      needs.missing.push_back(std::move(sentence));
  for (const std::string& sentence : needs.missing) base::tell("torchport: {}\n", sentence);
  if (!needs.missing.empty()) return std::nullopt;
  const Python python = find_python();
  if (!python.own) show_package_to_python();
  stop_on_signals();
  const auto shown = std::make_shared<Shown>();
  return runtime_build::BuildRequest{.places = places,
                                     .torch = torch,
                                     .tools = needs.tools,
                                     .python = python.program,
                                     .jobs = options.jobs > 0 ? options.jobs : default_jobs(),
                                     .show = [shown](const runtime_build::Progress& progress) {
                                       (*shown)(progress);
                                       return !interrupted();
                                     }};
}

int build(const RuntimeOptions& options) {
  const auto package = package_folder();
  if (!package) return refuse(package.error());
  const base::FileSystem& files = base::real_file_system();
  const Places places = runtime_places(*package);
  const auto torch = torch_of(options, *package);
  if (!torch) return refuse(torch.error());
  if (runtime_build::package_serves(*torch)) {
    fmt::print("torchport itself has libraries for torch {}; there is nothing to build\n",
               torch->version);
    return kClean;
  }
  if (const auto chosen = runtime_build::choose(files, places, *torch); chosen && !options.again) {
    fmt::print("the libraries for torch {} are there: {}\n", torch->version, *chosen);
    return kClean;
  }
  const auto request = request_for(options, places, *torch);
  if (!request) return kUsageError;
  const auto built = runtime_build::build(*request);
  if (!built) return refuse(built.error());
  return report(*built, *torch, places);
}

void print_lacks(const std::vector<runtime_build::Lack>& lacks) {
  std::size_t width = 0;
  std::vector<std::string> places;
  for (const runtime_build::Lack& lack : lacks) {
    places.push_back(lack.line > 0 ? fmt::format("{}:{}", lack.file, lack.line) : lack.file);
    width = std::max(width, places.back().size());
  }
  for (std::size_t i = 0; i < lacks.size(); ++i)
    fmt::print("{:<{}}  {}{}{}\n", places[i], width, lacks[i].name,
               lacks[i].name.empty() ? "" : ": ", lacks[i].what);
}

int probe(const RuntimeOptions& options) {
  const auto package = package_folder();
  if (!package) return refuse(package.error());
  const auto torch = torch_of(options, *package);
  if (!torch) return refuse(torch.error());
  const auto reference = torch_folder(*package);
  if (!reference) return refuse(reference.error());
  const Places places = runtime_places(*package);
  const auto request = request_for(options, places, *torch);
  if (!request) return kUsageError;
  const auto probed = runtime_build::probe(*request, *package, *reference);
  if (!probed) return refuse(probed.error());
  using State = runtime_build::Built::State;
  if (probed->built.state == State::kStopped || probed->built.state == State::kNoSpace)
    return report(probed->built, *torch, places);
  clear_progress_line();
  print_lacks(probed->lacks);
  for (const std::string& sentence : probed->not_checked) fmt::print("not checked: {}\n", sentence);
  const std::size_t count = probed->lacks.size();
  if (count > 0)
    fmt::print("torch {} lacks {} thing{} that torchport needs\n", torch->version, count,
               count == 1 ? "" : "s");
  else
    fmt::print("torch {} has all that was compared\n", torch->version);
  return count > 0 ? kFindings : kClean;
}

int clean() {
  const auto package = package_folder();
  if (!package) return refuse(package.error());
  const auto cleaned = runtime_build::clean(runtime_places(*package));
  if (!cleaned) return refuse(cleaned.error());
  for (const std::string& folder : cleaned->folders) fmt::print("deleted {}\n", folder);
  if (cleaned->folders.empty())
    fmt::print("there is nothing that `torchport runtime build` made\n");
  else
    fmt::print("freed {}\n", base::format_bytes(cleaned->bytes));
  return kClean;
}

void attach(CLI::App& app) {
  auto options = std::make_shared<RuntimeOptions>();
  CLI::App* sub = app.add_subcommand(
      "runtime", "List the libraries for each torch, and compile them for another torch");
  sub->require_subcommand(1);
  CLI::App* listing = sub->add_subcommand(
      "list", "List the libraries for each torch, and say which the active torch gets");
  listing->add_flag("--json", options->json, "Print the list as one JSON object");
  CLI::App* building = sub->add_subcommand(
      "build", "Compile the libraries for a torch that is not a supported release");
  building->add_flag("--again", options->again, "Compile also if the libraries are there");
  CLI::App* probing = sub->add_subcommand("probe",
                                          "Compare all that torchport needs of torch with a torch; "
                                          "for who adds a release to the table");
  for (CLI::App* one : {building, probing})
    one->add_option("-j,--jobs", options->jobs, "How many compilers run at a time")
        ->type_name("N")
        ->check(CLI::Range(1, 256));
  for (CLI::App* one : {listing, building, probing})
    one->add_option("--torch", options->torch,
                    "The folder of another torch than that of the active environment")
        ->type_name("FOLDER");
  CLI::App* cleaning = sub->add_subcommand("clean", "Delete all that `runtime build` has made");
  listing->footer("\nExit codes: 0 the active torch has libraries, 1 it has none, 2 wrong use.");
  building->footer(
      "\nExit codes: 0 the libraries are there, 1 they do not compile or run with this torch, 2 "
      "something that compiling needs is missing, 130 interrupted.");
  probing->footer("\nExit codes: 0 nothing is missing, 1 something is, 2 wrong use.");
  probing->callback([options] { set_exit_code(probe(*options)); });
  listing->callback([options] { set_exit_code(list(*options)); });
  building->callback([options] { set_exit_code(build(*options)); });
  cleaning->callback([] { set_exit_code(clean()); });
}

const CommandRegistration kRuntime{{.order = 18, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::runtime_command
