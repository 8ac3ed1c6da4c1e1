#include "cli/prove_compare.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/file_system.h"
#include "base/text.h"
#include "runtime/device/spec.h"
#include "runtime/proof/alignment.h"
#include "runtime/proof/files.h"
#include "runtime/proof/output.h"

namespace torchport::cli::prove_command {

namespace {

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

void print_alignment(const proof::Alignment& found) {
  fmt::print("    {} operators, {}", found.compared,
             found.equal_bits ? std::string("equal bit by bit")
                              : fmt::format("means within {:.2g} of each other", found.deviation));
  if (found.steps > 0) fmt::print("; the parameters after {} steps, too", found.steps);
  if (found.renamed > 0) fmt::print("; {} are another operator there", found.renamed);
  if (found.scaler > 0)
    fmt::print("; {} of a scaler of gradients, which is off on one of them", found.scaler);
  if (found.passed > 0)
    fmt::print("; {} of optimizers have no pair, and what follows agrees", found.passed);
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

// Every operator, bit by bit.
bool same_operators(const ProvedRun& a, const ProvedRun& b) {
  const proof::Comparison compared = proof::compare(*a.trace, *b.trace);
  if (compared.differing) {
    fmt::print("    the programs differ from operator {} on:\n", *compared.differing + 1);
    print_call("original", a, *compared.differing);
    print_call("fixed", b, *compared.differing);
    return false;
  }
  if (compared.calls == 0 && a.result.status != 0) {
    fmt::print("    both failed before their first operator: nothing is proved\n");
    return false;
  }
  fmt::print("    {} operators, equal bit by bit\n", a.trace->operators());
  return true;
}

// Whether a run computed anything on the devices that it was given.
bool uses_devices(const ProvedRun& subject, const std::string& devices) {
  const auto spec = device::parse_spec(devices);
  if (!spec || spec->count == 0 || !subject.trace || subject.trace->computed_on(spec->kind))
    return true;
  fmt::print(
      "    nothing was computed on {0}, so that this shows nothing about {0}: the port does not "
      "use "
      "it\n",
      spec->kind);
  return false;
}

// The files of --files, whose bytes may differ on another device.
Elsewhere compare_files(const ProveOptions& options, const ProvedRun& a, const ProvedRun& b,
                        double tolerance) {
  Elsewhere answer = Elsewhere::kSame;
  for (const std::string& name : options.files) {
    const proof::FileComparison found =
        proof::compare_files(a.result.folder + "/" + name, b.result.folder + "/" + name, tolerance);
    if (found.files == proof::FilesAre::kTheSame) continue;
    fmt::print("    {} {}\n", name, found.words);
    answer = std::max(answer, found.files == proof::FilesAre::kDifferent ? Elsewhere::kDifferent
                                                                         : Elsewhere::kUnknown);
  }
  return answer;
}

// The tolerance for results and files that depend on all of both runs.
double coarsest_tolerance(const ProvedRun& a, const ProvedRun& b) {
  if (!a.trace || !b.trace) return proof::tolerance_of("Float[");
  return std::max(a.trace->coarsest_tolerance(), b.trace->coarsest_tolerance());
}

// Operators and what was printed.
Elsewhere compare_results(const ProveOptions& options, const ProvedRun& a, const ProvedRun& b) {
  if (!both_traced(a, b)) return compare_printed(options, a, b, coarsest_tolerance(a, b));
  const proof::Alignment found = proof::align(*a.trace, *b.trace);
  if (found.compared == 0 && !found.parting) {
    fmt::print("    there are no operators to compare\n");
    return Elsewhere::kUnknown;
  }
  if (!found.parting) {
    print_alignment(found);
    return same_output(options, a, b, found.tolerance) ? Elsewhere::kSame : Elsewhere::kDifferent;
  }
  const double tolerance = coarsest_tolerance(a, b);
  fmt::print(
      "    the results differ from operator {} on ({}, {}), so the outputs are compared, within "
      "{:.2g}\n",
      found.parting->first + 1, name_at(a, found.parting->first), name_at(b, found.parting->second),
      tolerance);
  const Elsewhere printed = compare_printed(options, a, b, tolerance);
  if (proof::end_alike(*a.trace, *b.trace, tolerance)) return printed;
  fmt::print(
      "    the optimizers took other steps, or left other parameters after the last ones, which is "
      "not printed\n");
  return std::max(printed, Elsewhere::kUnknown);
}

}  // namespace

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

bool same_program(const ProveOptions& options, const ProvedRun& a, const ProvedRun& b) {
  bool same = same_status(a, b);
  if (both_traced(a, b)) {
    same &= same_operators(a, b);
    const auto spec = device::parse_spec(options.devices);
    if (spec && a.trace->computed_on(spec->kind) && !b.trace->computed_on(spec->kind)) {
      same = false;
      fmt::print("    the original computes on {}, and the port does not\n", spec->kind);
    }
  }
  same &= same_output(options, a, b, 0);
  return same_files(options, a, b) && same;
}

Elsewhere compare_elsewhere(const ProveOptions& options, const ProvedRun& a, const ProvedRun& b,
                            const std::string& devices) {
  if (!same_status(a, b)) return Elsewhere::kDifferent;
  const Elsewhere results = compare_results(options, a, b);
  const Elsewhere files = compare_files(options, a, b, coarsest_tolerance(a, b));
  const Elsewhere used = uses_devices(b, devices) ? Elsewhere::kSame : Elsewhere::kUnused;
  return std::max({results, files, used});
}

}  // namespace torchport::cli::prove_command
