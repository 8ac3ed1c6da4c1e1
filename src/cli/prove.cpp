// Implements `torchport prove`: shows that the ported program is the same program.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file_system.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/package.h"
#include "cli/prove_compare.h"
#include "cli/python.h"
#include "cli/terminal.h"
#include "runtime/device/spec.h"
#include "runtime/proof/program.h"
#include "runtime/proof/trace.h"

namespace torchport::cli::prove_command {

namespace {

std::string place_name(const std::string& devices) {
  if (devices == "none") return "no accelerator";
  return "virtual " + devices;
}

base::Result<ProvedRun> run_one(proof::Workplace& workplace, const ProveOptions& options,
                                const std::string& script, const std::string& devices,
                                const std::string& name) {
  auto spec = device::parse_spec(devices);
  if (!spec) return tl::unexpected<base::Error>(spec.error());
  // What runs without an accelerator draws these, too.
  spec->random = device::RandomNumbers::kCpu;
  proof::ProgramRun program{python_of_this_environment(),
                            script,
                            after_dashes().value_or(std::vector<std::string>()),
                            spec->text(),
                            options.seed,
                            options.files,
                            options.in_place};
  auto result = workplace.run(program, name);
  if (!result) return tl::unexpected<base::Error>(result.error());
  ProvedRun subject{std::move(*result), std::nullopt, script};
  if (std::filesystem::exists(subject.result.trace)) {
    auto trace = proof::Trace::read(base::real_file_system(), subject.result.trace);
    if (!trace) return tl::unexpected<base::Error>(trace.error());
    subject.trace.emplace(std::move(*trace));
  }
  return subject;
}

// Whether a run has computed anything.
bool has_computed(const ProvedRun& subject) {
  return subject.trace && !subject.trace->calls().empty();
}

void announce(const char* who, const std::string& devices, const ProvedRun& subject) {
  fmt::print("  {:<8} on {:<16} exit {}, {:.1f} s\n", who, place_name(devices),
             subject.result.status, subject.result.seconds);
}

// What the runs elsewhere show together, and whether that is enough. A device that the port does
// not use is a gap only for a user who asked for it.
std::pair<std::string, bool> verdict_elsewhere(const ProveOptions& options,
                                               const std::vector<Elsewhere>& runs) {
  const auto any = [&](Elsewhere word) {
    return std::find(runs.begin(), runs.end(), word) != runs.end();
  };
  if (any(Elsewhere::kDifferent)) return {"NOT the same results elsewhere", false};
  const bool gap = any(Elsewhere::kUnused) && (options.elsewhere_asked || !any(Elsewhere::kSame));
  if (any(Elsewhere::kUnknown) || gap) return {"the results elsewhere are not known", false};
  if (runs.empty()) return {"compared nowhere else", true};
  std::string unused;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (runs[i] == Elsewhere::kUnused)
      unused += (unused.empty() ? "" : ", ") + place_name(options.elsewhere[i]);
  if (unused.empty()) return {"same results elsewhere", true};
  return {fmt::format("same results elsewhere, but it does not use {}", unused), true};
}

int prove(const ProveOptions& options) {
  for (const std::string& script : {options.original, options.fixed}) {
    if (!std::filesystem::is_regular_file(script))
      return fail({base::ErrorCode::kUsage, "there is no such file", script, 0});
  }
  if (!find_python().own) show_package_to_python();
  auto workplace = proof::Workplace::make();
  if (!workplace) return fail(workplace.error());
  const auto original = run_one(*workplace, options, options.original, options.devices, "original");
  if (!original) return fail(original.error());
  announce("original", options.devices, *original);
  if (original->result.status != 0) print_last_error(*original);
  const auto fixed = run_one(*workplace, options, options.fixed, options.devices, "fixed");
  if (!fixed) return fail(fixed.error());
  announce("fixed", options.devices, *fixed);
  const bool same = same_program(options, *original, *fixed);
  if (original->result.status != 0 && !has_computed(*original) && !has_computed(*fixed)) {
    fmt::print("\nnothing is proved: both programs ended before their first operator\n");
    return kFindings;
  }
  if (!options.lines.empty() && chosen_lines(options, original->result.output).empty())
    return fail({base::ErrorCode::kUsage,
                 fmt::format("--lines {}: the original prints no such line", options.lines),
                 {},
                 0});
  std::vector<Elsewhere> elsewhere;
  // Several devices split batches and a single one does not, so the run on another device is
  // compared with a run on one.
  const auto spec = device::parse_spec(options.devices);
  std::optional<ProvedRun> alone;
  if (spec && spec->count > 1 && !options.elsewhere.empty()) {
    const std::string one = spec->kind + ":1";
    auto run = run_one(*workplace, options, options.fixed, one, "alone");
    if (!run) return fail(run.error());
    announce("fixed", one, *run);
    alone.emplace(std::move(*run));
  }
  for (std::size_t i = 0; i < options.elsewhere.size(); ++i) {
    const std::string& devices = options.elsewhere[i];
    const auto other =
        run_one(*workplace, options, options.fixed, devices, fmt::format("elsewhere{}", i));
    if (!other) return fail(other.error());
    announce("fixed", devices, *other);
    elsewhere.push_back(compare_elsewhere(options, alone ? *alone : *original, *other, devices));
  }
  fmt::print("\nall runs drew the CPU's random numbers, from seed {}\n", options.seed);
  const auto [words, everywhere] = verdict_elsewhere(options, elsewhere);
  fmt::print("\n{}, {}\n", same ? "same program" : "NOT the same program", words);
  return same && everywhere ? kClean : kFindings;
}

void attach(CLI::App& app) {
  auto options = std::make_shared<ProveOptions>();
  CLI::App* sub = app.add_subcommand(
      "prove", "Run a program and its port, and compare them operator by operator");
  sub->add_option("original", options->original, "The script before the port")
      ->required()
      ->type_name("ORIGINAL");
  sub->add_option("fixed", options->fixed, "The script after the port")
      ->required()
      ->type_name("FIXED");
  sub->add_option("--devices", options->devices,
                  "Devices that both run on for the comparison (default: cuda:1)")
      ->type_name("KIND:N");
  auto* elsewhere = sub->add_option("--elsewhere", options->elsewhere,
                                    "Other devices that the port runs on (default: none,mps)");
  elsewhere->delimiter(',')->allow_extra_args(false)->type_name("LIST");
  sub->add_option("--files", options->files, "Files that both write and that must be equal")
      ->allow_extra_args(false)
      ->type_name("FILE");
  sub->add_option("--lines", options->lines,
                  "Compare only the lines of the output that match this expression")
      ->check([](const std::string& text) {
        const std::string error = Pattern(text).error();
        return error.empty() ? error : "--lines: " + error;
      })
      ->type_name("REGEX");
  sub->add_option("--seed", options->seed, "The seed of torch, NumPy and random (default: 0)")
      ->type_name("N");
  sub->add_flag("--in-place", options->in_place,
                "Run the scripts in their own folders, not in copies of them");
  sub->footer(
      "Arguments of the scripts come after `--`. All runs draw the CPU's random numbers.\n"
      "Exit codes: 0 the same program on CUDA and the same results elsewhere; 1 not the same, or "
      "not known.");
  sub->callback([options, elsewhere] {
    options->elsewhere_asked = elsewhere->count() > 0;
    set_exit_code(prove(*options));
  });
}

const CommandRegistration kRegistered{{.order = 6, .attach = &attach, .takes_rest = "prove"}};

}  // namespace

}  // namespace torchport::cli::prove_command
