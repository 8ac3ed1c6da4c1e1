// Implements `torchport prove`: shows that the ported program is the same program.
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <regex.h>

#include "base/file_system.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/package.h"
#include "cli/python.h"
#include "cli/terminal.h"
#include "runtime/device/spec.h"
#include "runtime/proof/alignment.h"
#include "runtime/proof/output.h"
#include "runtime/proof/program.h"
#include "runtime/proof/trace.h"

namespace torchport::cli::prove_command {

namespace {

struct ProveOptions {
  std::string original;
  std::string fixed;
  std::string devices = "cuda:1";
  std::string seed = "0";
  std::vector<std::string> files;
  std::vector<std::string> elsewhere = {"none", "mps"};
  std::string lines;
  bool in_place = false;
};

struct ProvedRun {
  proof::ProgramResult result;
  std::optional<proof::Trace> trace;
  std::string script;
};

std::string place_name(const std::string& devices) {
  if (devices == "none") return "no accelerator";
  return "virtual " + devices;
}

// A source line of the copy, as a line of the project.
std::string line_of(const ProvedRun& subject, const proof::TracedCall& call) {
  std::string line(subject.trace->line_of(call));
  const std::string inside = subject.result.ran_in + "/";
  const auto at = line.find(inside);
  if (at == std::string::npos) return line;
  const auto folder = std::filesystem::path(subject.script).parent_path();
  return (folder / line.substr(at + inside.size())).lexically_normal().string();
}

void print_call(const char* who, const ProvedRun& subject, std::size_t index) {
  if (index >= subject.trace->calls().size()) {
    fmt::print("      {:<9} ends before it\n", who);
    return;
  }
  const proof::TracedCall& call = subject.trace->calls()[index];
  fmt::print("      {:<9} {}  {}\n", who, call.name, line_of(subject, call));
  for (const proof::TracedValue& value : call.values)
    fmt::print("                {}  mean {:.9g}, of absolute values {:.9g}\n", value.shape,
               value.mean, value.mean_abs);
}

std::string_view name_at(const ProvedRun& subject, std::size_t index) {
  return index < subject.trace->calls().size() ? subject.trace->calls()[index].name : "the end";
}

void print_last_error(const ProvedRun& subject) {
  const auto lines = base::split(base::trim(subject.result.errors), '\n');
  if (!lines.empty() && !lines.back().empty()) fmt::print("      {}\n", lines.back());
  // A build that failed has its reason before, in what the program printed.
  constexpr int kMost = 5;
  int shown = 0;
  for (const std::string* text : {&subject.result.output, &subject.result.errors}) {
    for (const std::string_view line : base::split(*text, '\n'))
      if (line.find(": error: ") != std::string_view::npos && shown++ < kMost)
        fmt::print("      {}\n", line);
  }
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

bool same_files(const ProveOptions& options, const ProvedRun& a, const ProvedRun& b) {
  bool same = true;
  for (const std::string& name : options.files) {
    const base::FileSystem& files = base::real_file_system();
    const auto first = files.read(a.result.folder + "/" + name);
    const auto second = files.read(b.result.folder + "/" + name);
    if (first && second && *first == *second) continue;
    same = false;
    fmt::print("    {} {}\n", name,
               first && second ? "differs"
               : first         ? "is missing from the second run"
                               : "is missing from the first run");
  }
  return same;
}

bool same_status(const ProvedRun& a, const ProvedRun& b) {
  if (a.result.status == b.result.status) return true;
  fmt::print("    exit status {} instead of {}\n", b.result.status, a.result.status);
  print_last_error(b);
  return false;
}

// A POSIX extended regular expression.
class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : error_(regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB)) {}
  ~Pattern() {
    if (error_ == 0) regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // What is wrong with the expression; empty if nothing is.
  [[nodiscard]] std::string error() const {
    if (error_ == 0) return {};
    std::array<char, 200> words{};
    regerror(error_, &compiled_, words.data(), words.size());
    return words.data();
  }
  [[nodiscard]] bool found_in(const std::string& line) const {
    return regexec(&compiled_, line.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
  int error_;
};

// The lines of the output that --lines selects.
std::string chosen_lines(const ProveOptions& options, const std::string& output) {
  if (options.lines.empty()) return output;
  const Pattern wanted(options.lines);
  std::string chosen;
  for (const std::string_view line : base::split(output, '\n')) {
    if (wanted.found_in(std::string(line))) chosen.append(line).append("\n");
  }
  return chosen;
}

bool same_output(const ProveOptions& options, const ProvedRun& a, const ProvedRun& b,
                 double tolerance) {
  const auto difference = proof::compare_output(chosen_lines(options, a.result.output),
                                                chosen_lines(options, b.result.output), tolerance);
  if (!difference) return true;
  fmt::print("    output differs at line {}:\n      {}\n      {}\n", difference->line,
             difference->first, difference->second);
  return false;
}

bool both_traced(const ProvedRun& a, const ProvedRun& b) {
  if (a.trace && b.trace) return true;
  fmt::print("    no operators to compare: torch was not imported\n");
  return false;
}

// Compares the runs on CUDA: every operator, bit by bit.
bool same_program(const ProveOptions& options, const ProvedRun& a, const ProvedRun& b) {
  bool same = same_status(a, b);
  if (both_traced(a, b)) {
    const proof::Comparison compared = proof::compare(*a.trace, *b.trace);
    if (compared.differing) {
      same = false;
      fmt::print("    the programs differ from operator {} on:\n", *compared.differing + 1);
      print_call("original", a, *compared.differing);
      print_call("fixed", b, *compared.differing);
    } else if (compared.calls == 0 && a.result.status != 0) {
      same = false;
      fmt::print("    both failed before their first operator: nothing is proved\n");
    } else {
      fmt::print("    {} operators, equal bit by bit\n", compared.calls);
    }
  }
  same &= same_output(options, a, b, 0);
  return same_files(options, a, b) && same;
}

// What a comparison of runs on two devices says.
enum class Elsewhere : std::uint8_t { kSame, kDifferent, kUnknown };

void print_alignment(const proof::Alignment& found) {
  fmt::print("    {} operators, {}", found.compared,
             found.equal_bits ? std::string("equal bit by bit")
                              : fmt::format("means within {:.2g} of each other", found.deviation));
  if (found.renamed > 0) fmt::print("; {} are another operator there", found.renamed);
  if (found.passed > 0)
    fmt::print("; {} steps of optimizers have no pair, and what follows agrees", found.passed);
  fmt::print("\n");
}

// Compares what the runs printed, which is not enough if that has no numbers.
Elsewhere compare_printed(const ProveOptions& options, const ProvedRun& a, const ProvedRun& b,
                          double tolerance) {
  if (!same_output(options, a, b, tolerance)) return Elsewhere::kDifferent;
  if (proof::numbers_in(chosen_lines(options, a.result.output)) > 0) return Elsewhere::kSame;
  fmt::print(
      "    what is compared of the outputs has no number, so that this shows nothing: let "
      "the program print its results\n");
  return Elsewhere::kUnknown;
}

// Compares the runs on another device: results within the tolerance of their types or, where they
// part, the same output.
Elsewhere compare_elsewhere(const ProveOptions& options, const ProvedRun& a, const ProvedRun& b) {
  if (!same_status(a, b)) return Elsewhere::kDifferent;
  if (!options.files.empty())
    fmt::print("    files are not compared here: what another device writes has other bytes\n");
  if (!both_traced(a, b)) return compare_printed(options, a, b, proof::tolerance_of("Float["));
  const proof::Alignment found = proof::align(*a.trace, *b.trace);
  if (found.compared == 0 && !found.parting) {
    fmt::print("    there are no operators to compare\n");
    return Elsewhere::kUnknown;
  }
  double tolerance = proof::tolerance_of("Float[");
  if (!found.parting) {
    print_alignment(found);
    return same_output(options, a, b, tolerance) ? Elsewhere::kSame : Elsewhere::kDifferent;
  }
  tolerance = std::max(a.trace->coarsest_tolerance(), b.trace->coarsest_tolerance());
  fmt::print(
      "    the results differ from operator {} on ({}, {}), so the outputs are compared, within "
      "{:.2g}\n",
      found.parting->first + 1, name_at(a, found.parting->first), name_at(b, found.parting->second),
      tolerance);
  return compare_printed(options, a, b, tolerance);
}

// Whether a run has computed anything.
bool has_computed(const ProvedRun& subject) {
  return subject.trace && !subject.trace->calls().empty();
}

void announce(const char* who, const std::string& devices, const ProvedRun& subject) {
  fmt::print("  {:<8} on {:<16} exit {}, {:.1f} s\n", who, place_name(devices),
             subject.result.status, subject.result.seconds);
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
    elsewhere.push_back(compare_elsewhere(options, alone ? *alone : *original, *other));
  }
  fmt::print("\nall runs drew the CPU's random numbers, from seed {}\n", options.seed);
  const auto any = [&](Elsewhere word) {
    return std::find(elsewhere.begin(), elsewhere.end(), word) != elsewhere.end();
  };
  std::string_view words = "same results elsewhere";
  if (any(Elsewhere::kDifferent))
    words = "NOT the same results elsewhere";
  else if (any(Elsewhere::kUnknown))
    words = "the results elsewhere are not known";
  else if (elsewhere.empty())
    words = "compared nowhere else";
  fmt::print("\n{}, {}\n", same ? "same program" : "NOT the same program", words);
  const bool everywhere = !any(Elsewhere::kDifferent) && !any(Elsewhere::kUnknown);
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
  sub->add_option("--elsewhere", options->elsewhere,
                  "Other devices that the port runs on (default: none,mps)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
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
  sub->callback([options] { set_exit_code(prove(*options)); });
}

const CommandRegistration kRegistered{{.order = 6, .attach = &attach, .takes_rest = "prove"}};

}  // namespace

}  // namespace torchport::cli::prove_command
