// Writes the report for people at a terminal.
#include "base/text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "source/report/report.h"
#include "source/rules/registry.h"

namespace torchport::report::text {

namespace {

struct Paint {
  bool on;
  [[nodiscard]] std::string operator()(std::string_view code, std::string_view text) const {
    return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
};

constexpr std::string_view kBold = "1";
constexpr std::string_view kRed = "1;31";
constexpr std::string_view kYellow = "1;33";
constexpr std::string_view kBlue = "34";
constexpr std::string_view kGreen = "32";
constexpr std::size_t kMaxShown = 160;  // characters of a source line

std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

// The offset at which the n-th character starts.
std::size_t offset_of(std::string_view text, std::size_t n) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
    if (seen++ == n) return i;
  }
  return text.size();
}

std::string snippet(const project::Diagnostic& d, const Paint& paint) {
  std::string line = printable(d.source_line);
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20U && c != '\t'; }, ' ');
  std::size_t first = d.column - 1;
  std::size_t width = d.end_line == d.line && d.end_column > d.column ? d.end_column - d.column : 0;
  const std::size_t length = length_of(line);
  if (first > length) return {};
  if (width == 0) width = length - first;
  std::string cut;
  if (length > kMaxShown) {
    const std::size_t from = first > kMaxShown / 2 ? first - kMaxShown / 2 : 0;
    cut = line.substr(offset_of(line, from),
                      offset_of(line, from + kMaxShown) - offset_of(line, from));
    first -= from;
  } else {
    cut = line;
  }
  width = std::max<std::size_t>(
      1, std::min(width, length_of(cut) > first ? length_of(cut) - first : 1));
  // The line of carets keeps tabs, so that the carets are aligned with the source.
  std::string pad = cut.substr(0, offset_of(cut, first));
  std::string blank;
  for (std::size_t i = 0; i < pad.size(); ++i) {
    if ((static_cast<unsigned char>(pad[i]) & 0xC0U) != 0x80U) blank += pad[i] == '\t' ? '\t' : ' ';
  }
  const std::string number = std::to_string(d.line);
  const std::string gutter(number.size(), ' ');
  return fmt::format(
      "{0} {1}\n{2} {1} {3}\n{0} {1} {4}{5}\n", gutter, paint(kBlue, "|"), paint(kBlue, number),
      cut, blank,
      paint(d.severity == rules::Severity::kError ? kRed : kYellow, std::string(width, '^')));
}

std::string one(const project::Diagnostic& d, const Paint& paint) {
  std::string text =
      fmt::format("{}:{}:{}: {} {}: {}\n", paint(kBold, one_line(d.path)), d.line, d.column,
                  paint(d.severity == rules::Severity::kError ? kRed : kYellow, d.code), d.name,
                  printable(d.message));
  text += snippet(d, paint);
  if (d.has_fix) {
    const std::string_view how = d.applicability == edit::Applicability::kSafe ? "fix"
                                 : d.applicability == edit::Applicability::kUnsafe
                                     ? "fix (--unsafe-fixes)"
                                     : "by hand";
    text += fmt::format("  = {}: {}\n", paint(kGreen, how), printable(d.fix_title));
  }
  return text + "\n";
}

std::string statistics(const Input& input, const Paint& paint) {
  auto counts = count_by_code(input.report);
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [code, n] : counts) {
    const rules::Rule* rule = rules::find_rule(code);
    text += fmt::format("{:>6}  {}  {:<28} {}\n", n, paint(kBold, code), rule->info.name,
                        rule->info.summary);
  }
  return text.empty() ? text : text + "\n";
}

std::string next_step(const project::CheckReport& report) {
  const auto has = [&](edit::Applicability tier) {
    return static_cast<std::size_t>(
        std::count_if(report.diagnostics.begin(), report.diagnostics.end(),
                      [&](const auto& d) { return d.has_fix && d.applicability == tier; }));
  };
  const std::size_t safe = has(edit::Applicability::kSafe);
  const std::size_t unsafe = has(edit::Applicability::kUnsafe);
  if (safe + unsafe == 0) return {};
  std::string text = fmt::format("{} can be fixed by `torchport fix`", safe);
  if (unsafe > 0) text += fmt::format(", {} more with `--unsafe-fixes`", unsafe);
  return text + "; `--diff` shows it first.\n";
}

// Which torch fixes are written for, and who says so.
std::string floor_line(const project::CheckOptions& options) {
  const edit::TorchVersion& floor = options.settings.min_torch;
  return fmt::format("Fixes are written for torch {}.{} and newer ({}).\n", floor.major,
                     floor.minor,
                     options.min_torch_from.empty()
                         ? "the default; no requirement here says more, `min-torch` sets it"
                         : one_line(options.min_torch_from));
}

std::string nothing_found(const Input& input) {
  const std::string files = counted(input.report.files, "file");
  if (input.report.files == 0)
    return "Found no Python file, notebook, Dockerfile or requirements file here.\n";
  if (!input.since.empty())
    return fmt::format("No {} in the lines changed since {}, in {}.\n",
                       input.known > 0 ? "new finding" : "finding", one_line(input.since), files);
  if (input.known > 0) return fmt::format("Nothing new in {}.\n", files);
  return fmt::format(
      "No tie to CUDA was found in {}. A move between devices that is missing shows best when the "
      "code runs: `torchport run` and `torchport verify` need no GPU.\n",
      files);
}

std::string render(const Input& input) {
  const Paint paint{input.colour};
  const project::CheckReport& report = input.report;
  std::string text;
  if (input.statistics) {
    text += statistics(input, paint);
  } else {
    for (const project::Diagnostic& d : report.diagnostics) text += one(d, paint);
  }
  for (const base::Error& problem : report.problems) {
    text += problem.line > 0
                ? fmt::format("{}:{}: {}: {}\n", one_line(problem.path), problem.line,
                              paint(kYellow, "not checked fully"), one_line(problem.message))
                : fmt::format("{}: {}: {}\n", one_line(problem.path), paint(kYellow, "not checked"),
                              one_line(problem.message));
  }
  if (!report.problems.empty()) text += '\n';
  std::set<std::string_view> hit;
  for (const auto& d : report.diagnostics) hit.insert(d.path);
  if (report.diagnostics.empty() && !report.problems.empty()) {
    text += fmt::format("No {} in what could be read of {}.\n",
                        input.known > 0 ? "new finding" : "finding", counted(report.files, "file"));
  } else if (report.diagnostics.empty()) {
    text += nothing_found(input);
  } else {
    text +=
        fmt::format("Found {} in {} of {}.\n",
                    counted(report.diagnostics.size(), input.known > 0 ? "new finding" : "finding"),
                    hit.size(), counted(report.files, "file"));
    const std::string next = next_step(report);
    text += next;
    if (!next.empty()) text += floor_line(input.options);
  }
  text += left_out(input);
  if (report.cancelled) text += "Interrupted: not every file was checked.\n";
  return text;
}

const FormatRegistration kRegistered{{"text", "findings with their source, for people", &render}};

}  // namespace

}  // namespace torchport::report::text
