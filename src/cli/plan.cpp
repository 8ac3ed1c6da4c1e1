// Implements `torchport plan`: runs a program on devices without data, and says what memory each
// device needs, who holds it, and whether it fits.
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/process.h"
#include "base/tell.h"
#include "base/temporary_folder.h"
#include "cli/command.h"
#include "cli/package.h"
#include "cli/plan_runs.h"
#include "cli/python.h"
#include "cli/terminal.h"
#include "plan/html.h"
#include "plan/report.h"
#include "plan/snapshot.h"
#include "runtime/device/spec.h"

namespace torchport::cli {

namespace {

base::Error usage(std::string message) {
  return {base::ErrorCode::kUsage, std::move(message), {}, 0};
}

// The words after the options, as `torchport run` takes them, with a value in the place of {NAME}.
std::vector<std::string> filled(std::vector<std::string> words, const std::string& name,
                                const std::string& value) {
  const std::string place = "{" + name + "}";
  for (std::string& word : words) {
    for (auto at = word.find(place); at != std::string::npos; at = word.find(place, at))
      word.replace(at, place.size(), value), at += value.size();
  }
  return words;
}

struct Search {
  std::string name;
  std::int64_t least = 0;
  std::int64_t most = 0;
};

// "batch=1..512"
base::Result<Search> parse_search(const std::string& text) {
  const auto equals = text.find('=');
  const auto dots = text.find("..");
  Search search;
  const auto number = [&](std::size_t from, std::size_t to, std::int64_t& value) {
    const char* const end = text.data() + to;
    const auto [stopped, error] = std::from_chars(text.data() + from, end, value);
    return error == std::errc() && stopped == end;
  };
  if (equals == std::string::npos || equals == 0 || dots == std::string::npos || dots < equals ||
      !number(equals + 1, dots, search.least) || !number(dots + 2, text.size(), search.most) ||
      search.least < 1 || search.most < search.least)
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("--search {}: write NAME=LEAST..MOST, e.g. batch=1..512", text));
  search.name = text.substr(0, equals);
  return search;
}

// Says once how a program that runs for long is ended, since most programs train for days.
class LongRunNote {
 public:
  LongRunNote(const PlanOptions& options, bool is_one_of_many)
      : is_done_(options.steps > 0 || options.seconds > 0), is_one_of_many_(is_one_of_many) {}

  void operator()(pid_t) {
    if (is_done_ || std::chrono::steady_clock::now() < begin_ + kLong) return;
    is_done_ = true;
    base::tell(
        "torchport: the program has run for {} s. {}--steps N, --batches N and --seconds N "
        "make it short\n",
        kLong.count(), is_one_of_many_ ? "" : "Ctrl-C ends it and prints the report; ");
  }

 private:
  static constexpr std::chrono::seconds kLong{30};
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool is_done_;
  bool is_one_of_many_;
};

// The largest value with which the program fits, by bisection.
int search_largest(const PlanOptions& options, const std::string& profile,
                   const std::vector<std::string>& rest) {
  const auto search = parse_search(options.search);
  if (!search) return fail(search.error());
  std::int64_t fits = search->least - 1;
  std::int64_t too_large = search->most + 1;
  while (fits + 1 < too_large) {
    const std::int64_t value = fits + (too_large - fits) / 2;
    const auto plan = run_once(options, profile, filled(rest, search->name, std::to_string(value)),
                               true, {{search->name, std::to_string(value)}});
    if (!plan) return fail(plan.error());
    if (plan->verdict() == plan::Verdict::kHangsOnValues)
      return fail(hangs_on_values(fmt::format("{}={}", search->name, value), *plan));
    if (!plan->ran_out() && plan->status != 0)
      return fail({base::ErrorCode::kConfig,
                   fmt::format("the program fails with {}={}, and not for want of memory: {}",
                               search->name, value, plan->ended_by()),
                   {},
                   0});
    const bool fit = plan->verdict() == plan::Verdict::kFits;
    fmt::print("{}={}: {}\n", search->name, value, plan::in_a_line(*plan));
    std::fflush(stdout);
    (fit ? fits : too_large) = value;
  }
  if (fits < search->least)
    fmt::print("no {} from {} to {} fits\n", search->name, search->least, search->most);
  else
    fmt::print("the largest {} that fits: {}{}\n", search->name, fits,
               fits == search->most ? ", the largest that was asked for" : "");
  return fits < search->least ? 1 : 0;
}

// Several profiles in one table.
int compare(const PlanOptions& options, const std::vector<std::string>& rest) {
  std::vector<std::pair<std::string, plan::Plan>> plans;
  bool all_fit = true;
  bool one_fails = false;
  for (const std::string& profile : options.profiles) {
    auto plan = run_once(options, profile, rest, true);
    if (!plan) return fail(plan.error());
    const plan::Verdict verdict = plan->verdict();
    all_fit = all_fit && verdict == plan::Verdict::kFits;
    one_fails =
        one_fails || (verdict != plan::Verdict::kFits && verdict != plan::Verdict::kHangsOnValues);
    plans.emplace_back(profile, std::move(*plan));
  }
  fmt::print("{}", options.format == "json" ? plan::comparison_as_json(plans)
                                            : plan::comparison_as_text(plans));
  return all_fit ? kClean : one_fails ? kFindings : kNotKnown;
}

// Whether the files that are wanted can be written. They are of one run.
base::Result<void> check_files(const PlanOptions& options, bool many) {
  if (options.snapshot.empty() && options.page.empty()) return {};
  if (many)
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("{} is of one run: leave out --search, --what-if and --smallest, and name one "
                    "profile",
                    options.page.empty() ? "--snapshot" : "--html"));
  if (!options.page.empty())
    if (auto right = plan::check_target("--html", options.page); !right) return right;
  return options.snapshot.empty() ? base::Result<void>{}
                                  : plan::check_snapshot(options.snapshot, options.devices);
}

int run(const PlanOptions& options, std::vector<std::string> rest) {
  if (auto& command = after_dashes()) {
    rest.emplace_back("--");
    rest.insert(rest.end(), command->begin(), command->end());
  }
  if (rest.empty())
    return fail(
        usage("nothing to plan; write `torchport plan train.py` or `torchport plan -- "
              "torchrun --nproc-per-node 8 train.py`"));
  for (const std::string& profile : options.profiles) {
    const auto spec =
        device::parse_spec(fmt::format("{},profile={}", devices_of(options), profile));
    if (!spec) return fail(spec.error());
  }
  const bool many = options.profiles.size() > 1 || !options.search.empty() ||
                    !options.what_if.empty() || options.smallest;
  if (const auto right = check_files(options, many); !right) return fail(right.error());
  if (options.smallest) return plan_smallest(options, rest);
  const std::string first = options.profiles.empty() ? "" : options.profiles.front();
  if (!options.what_if.empty()) return what_if(options, first, rest);
  if (!options.search.empty()) return search_largest(options, first, rest);
  if (options.profiles.size() > 1) return compare(options, rest);
  auto plan = run_once(options, first, rest, false);
  if (!plan) return fail(plan.error());
  if (plan->devices.empty()) return plan->status;
  if (!options.page.empty())
    if (const auto written = plan::write_page(*plan, options.page); !written)
      return fail(written.error());
  // The program's last line may have no end, as that of a progress bar.
  fmt::print("{}", options.format == "json" ? "\n" + plan::as_json(*plan) : plan::as_text(*plan));
  if (plan->verdict() == plan::Verdict::kHangsOnValues) return kNotKnown;
  if (plan->status != 0 && !plan->ran_out()) return plan->status;
  return plan->verdict() == plan::Verdict::kFits ? 0 : 1;
}

void attach(CLI::App& app) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* sub = app.add_subcommand(
      "plan", "Find out whether a program fits on devices, without the devices and its data");
  sub->prefix_command();
  sub->footer(
      "Usage:\n"
      "  torchport plan [OPTIONS] SCRIPT [ARGS...]\n"
      "  torchport plan [OPTIONS] -m MODULE [ARGS...]\n"
      "  torchport plan [OPTIONS] -- torchrun --nproc-per-node 8 train.py\n\n"
      "The exit code is 0 if the program fits, 1 if it does not, 4 if that hangs on values "
      "that are not there, else the program's.");
  sub->add_option("--devices", options->devices,
                  "The devices, N of one kind (default: cuda:1; with --ranks, up to cuda:8)")
      ->type_name("KIND:N");
  sub->add_option("--profile", options->profiles,
                  "The model of the devices, e.g. h100-80g, or a TOML file; several, with commas "
                  "between them, are compared in a table")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("NAME");
  sub->add_option("--memory", options->memory, "Memory of each device, e.g. 16GiB")
      ->type_name("SIZE");
  sub->add_option("--keep-data", options->keep,
                  "Tensors up to this size are computed (default: 64KiB)")
      ->type_name("SIZE");
  sub->add_option(
         "--search", options->search,
         "Find the largest value with which the program fits: it takes the place of {NAME} "
         "in the program's arguments, and is the environment variable NAME")
      ->type_name("NAME=LEAST..MOST");
  sub->add_option("--what-if", options->what_if,
                  "Run the program as it is and with changes, and compare: all, or some of "
                  "checkpointing, autocast, bfloat16, sgd, adafactor, loop, shard:N, ranks:N, "
                  "another PROFILE, KIND:N; A+B is both at once")
      ->type_name("CHANGES");
  sub->add_flag("--smallest", options->smallest,
                "Find the smallest card, of --profile or of all, with which the program fits");
  const auto add_number = [sub](const char* name, int& number, int most, const char* does) {
    sub->add_option(name, number, does)->check(CLI::Range(1, most))->type_name("N");
  };
  add_number("--ranks", options->ranks, 1 << 20,
             "Plan rank 0 of N, in one process: the other ranks are assumed to be alike");
  add_number("--steps", options->steps, 1 << 30,
             "End the program when an optimizer has taken N steps and would take the next");
  add_number("--batches", options->batches, 1 << 30,
             "Let each pass over a DataLoader have at most N batches: epochs are short, and "
             "validation is planned, too");
  add_number("--seconds", options->seconds, 1 << 30,
             "End the program N seconds after it first used a device");
  sub->add_option("--snapshot", options->snapshot,
                  "Write what torch.cuda.memory._dump_snapshot() writes, for PyTorch's memory "
                  "viewer; of several processes one file each, NAME.rank0.pickle")
      ->type_name("FILE");
  sub->add_option("--html", options->page, "Write the report as a page, too")->type_name("FILE");
  sub->add_option("--format", options->format, "text or json (default: text)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  sub->callback([options, sub] { set_exit_code(run(*options, sub->remaining())); });
}

const CommandRegistration kRegistered{{.order = 6, .attach = &attach, .takes_rest = "plan"}};

}  // namespace

base::Error hangs_on_values(const std::string& run, const plan::Plan& plan) {
  return {base::ErrorCode::kNotKnown, fmt::format("{}: {}", run, plan::in_a_line(plan)), {}, 0};
}

base::Result<plan::Plan> run_once(const PlanOptions& options, const std::string& profile,
                                  const std::vector<std::string>& rest, bool quiet,
                                  const std::map<std::string, std::string>& variables) {
  auto folder = base::TemporaryFolder::make("torchport-plan");
  if (!folder) return tl::unexpected<base::Error>(folder.error());
  std::vector<std::string> words = {
      (own_folder() / "torchport").string(), "run", "-q", "--no-data", "--keep-data", options.keep};
  if (!options.devices.empty()) words.insert(words.end(), {"--devices", options.devices});
  if (!profile.empty()) words.insert(words.end(), {"--profile", profile});
  if (options.ranks > 0) words.insert(words.end(), {"--ranks", std::to_string(options.ranks)});
  if (!options.memory.empty()) words.insert(words.end(), {"--memory", options.memory});
  words.insert(words.end(), rest.begin(), rest.end());
  const std::string target = folder->file("plan.json");
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  setenv("TORCHPORT_PLAN", target.c_str(), 1);
  for (const auto& [name, value] : {std::pair("TORCHPORT_PLAN_STEPS", options.steps),
                                    {"TORCHPORT_PLAN_BATCHES", options.batches},
                                    {"TORCHPORT_PLAN_SECONDS", options.seconds}})
    setenv(name, std::to_string(value).c_str(), 1);
  if (!options.snapshot.empty())
    setenv("TORCHPORT_PLAN_SNAPSHOT", std::to_string(plan::kMostSnapshotEvents).c_str(), 1);
  const std::string streams = quiet ? base::kNowhere : "";
  const auto ended =
      base::run_in_foreground({.words = words, .output_file = streams, .errors_file = streams},
                              std::chrono::milliseconds(500), LongRunNote(options, quiet));
  if (!ended) return tl::unexpected<base::Error>(ended.error());
  const int status = ended->status();
  if (quiet && status == 128 + SIGINT)
    return base::fail(base::ErrorCode::kUsage, "ended by Ctrl-C: there is no result of this run");
  if (status == kUsageError && std::filesystem::is_empty(folder->path()))
    return base::fail(base::ErrorCode::kUsage,
                      "the program ended with 2 before it used a device: there is no plan");
  auto plan = plan::read_plan(folder->path(), status);
  if (!plan && plan.error().code == base::ErrorCode::kIo && status != 0 && !quiet) {
    fail(plan.error());
    plan::Plan none;
    none.status = status;
    return none;
  }
  if (!plan || options.snapshot.empty()) return plan;
  const auto kept = plan::keep_snapshots(*plan, options.snapshot);
  if (!kept) return tl::unexpected<base::Error>(kept.error());
  return plan;
}

}  // namespace torchport::cli
