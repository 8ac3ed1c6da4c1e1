// TP705: lists of CUDA architectures that torch's builder refuses, or that leave GPUs out.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "source/rules/build/common/dockerfile.h"
#include "source/rules/edits.h"

namespace torchport::rules::cuda_arch_list {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP705",
    .name = "cuda-arch-list",
    .family = "build",
    .severity = Severity::kError,
    .summary =
        "a list of CUDA architectures is written in a way that the build refuses, or names just "
        "one",
};

constexpr std::string_view kVariable = "TORCH_CUDA_ARCH_LIST";

// The names in named_arches of _get_cuda_arch_flags, torch/utils/cpp_extension.py.
constexpr std::array<std::string_view, 14> kNamed{
    "Kepler+Tesla", "Kepler", "Maxwell+Tegra",   "Maxwell",      "Pascal",
    "Volta+Tegra",  "Volta",  "Turing",          "Ampere+Tegra", "Ampere",
    "Ada",          "Hopper", "Blackwell+Tegra", "Blackwell"};

bool digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether an architecture has the form that torch accepts: "8.6", "9.0a", "7.5+PTX", "Ampere". Each
// release accepts more numbers, so the numbers are not checked.
bool is_valid(std::string_view arch) {
  if (arch.ends_with("+PTX")) arch.remove_suffix(4);
  if (std::find(kNamed.begin(), kNamed.end(), arch) != kNamed.end()) return true;
  const auto dot = arch.find('.');
  if (dot == std::string_view::npos) return false;
  std::string_view minor = arch.substr(dot + 1);
  if (minor.ends_with('a') || minor.ends_with('f')) minor.remove_suffix(1);
  return digits(arch.substr(0, dot)) && dot <= 2 && digits(minor) && minor.size() == 1;
}

// Rewrites "70", "sm_70" or "compute_86" in torch's form; "" for anything else.
std::string corrected(std::string_view arch) {
  std::string_view suffix;
  if (arch.ends_with("+PTX")) {
    suffix = "+PTX";
    arch.remove_suffix(4);
  }
  if (is_valid(arch)) return fmt::format("{}{}", arch, suffix);
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (arch.starts_with(prefix)) arch.remove_prefix(prefix.size());
  }
  if (!digits(arch) || arch.size() < 2 || arch.size() > 3) return {};
  return fmt::format("{}.{}{}", arch.substr(0, arch.size() - 1), arch.back(), suffix);
}

std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t at = 0;
  while (at <= list.size()) {
    const auto end = std::min(list.find_first_of(",; ", at), list.size());
    if (end > at) parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// What is wrong with a list; none if it is right, contains variables, or asks the build to detect
// the architecture.
std::optional<std::string> fault_of(std::string_view list) {
  const std::string_view trimmed = base::trim(list);
  if (trimmed.empty() || list.find_first_of("$%{}()<>") != std::string_view::npos) return {};
  for (const std::string_view word : {"native", "All", "Auto", "Common"}) {
    if (trimmed == word) return {};
  }
  if (list.find(',') != std::string_view::npos) {
    return "torch splits the list at semicolons and spaces: with commas the build ends with "
           "\"Unknown CUDA arch\" as soon as a kernel is compiled.";
  }
  for (const std::string_view arch : parts_of(list)) {
    if (!is_valid(arch)) {
      return fmt::format(
          "`{}` is not how torch names an architecture: the build ends with \"Unknown CUDA arch\" "
          "as soon as a kernel is compiled.",
          arch);
    }
  }
  if (list.ends_with(';') || list.starts_with(';') || list.find(";;") != std::string_view::npos) {
    return "The list has an empty entry: the build ends with \"Unknown CUDA arch ()\" as soon as a "
           "kernel is compiled.";
  }
  return {};
}

// Reports the faults of a list at `span`. `mark` are the quotes that semicolons need if there are
// none.
void check_list(std::string_view list, base::Span span, std::string_view mark, Reporter& reporter) {
  auto fault = fault_of(list);
  if (!fault) return;
  const auto parts = parts_of(list);
  std::string better;
  bool known = true;
  bool only_separators = true;
  for (const std::string_view part : parts) {
    const std::string name = corrected(part);
    known &= !name.empty();
    only_separators &= name == part;
    better += (better.empty() ? "" : ";") + name;
  }
  Finding& finding = reporter.report(span, std::move(*fault));
  Fix fix;
  fix.title = known && !better.empty() ? fmt::format("write `{}`", better)
                                       : "write it like \"7.0;7.5;8.6+PTX\"";
  if (known && !better.empty()) {
    fix.applicability = only_separators ? Applicability::kSafe : Applicability::kUnsafe;
    fix.edits = {{span, fmt::format("{0}{1}{0}", mark, better)}};
  }
  finding.fix.push_back(std::move(fix));
}

// Checks NAME=value, NAME value and NAME="value" in a line. The value ends at its quote or at a
// blank.
void check_line(std::string_view line, std::uint32_t offset, Reporter& reporter) {
  for (std::size_t at = line.find(kVariable); at != std::string_view::npos;
       at = line.find(kVariable, at + 1)) {
    std::size_t start = at + kVariable.size();
    if ((at > 0 &&
         (base::is_identifier_char(line[at - 1]) || line[at - 1] == '$' || line[at - 1] == '{')) ||
        start >= line.size())
      continue;
    if (line[start] != '=' && line[start] != ' ') continue;
    const bool spaced = line[start] == ' ';
    ++start;
    if (start >= line.size()) continue;
    const char quote = line[start] == '"' || line[start] == '\'' ? line[start] : '\0';
    std::size_t end = 0;
    if (quote != '\0') {
      end = line.find(quote, ++start);
    } else {
      end = spaced ? line.find_first_of("&)\"", start) : line.find_first_of(" \t\"';&)\\", start);
    }
    end = std::min(end, line.size());
    while (end > start && quote == '\0' && (line[end - 1] == ' ' || line[end - 1] == '\\')) --end;
    const base::Span span{offset + static_cast<std::uint32_t>(start),
                          offset + static_cast<std::uint32_t>(end)};
    check_list(line.substr(start, end - start), span, quote == '\0' && !spaced ? "\"" : "",
               reporter);
  }
}

void check_text(const TextContext& context, Reporter& reporter) {
  if (context.kind == FileKind::kDockerfile) {
    for (const DockerInstruction& instruction : docker_instructions(context.lines)) {
      for (const DockerLine& line : instruction.lines) check_line(line.text, line.offset, reporter);
    }
    return;
  }
  for (std::uint32_t number = 1; number <= context.lines.line_count();
       ++number) {  // set(NAME "value" CACHE ...)
    std::string_view line = context.lines.line(number);
    line = line.substr(0, line.find('#'));
    if (line.find("set(") == std::string_view::npos && line.find("SET(") == std::string_view::npos)
      continue;
    if (line.find('"') != std::string_view::npos)
      check_line(line, context.lines.line_start(number), reporter);
  }
}

// --- Python -----------------------------------------------------------------------

// The value of `os.environ["NAME"] = value`, `setdefault("NAME", value)`, `{"NAME": value}`,
// `dict(NAME=value)`.
Node value_of(Node name) {
  std::string text;
  const Node parent = name.parent();
  if (name.is(Kind::kIdentifier)) {
    return parent.is(Kind::kKeywordArgument) && name.field() == Field::kName &&
                   name.text() == kVariable
               ? parent.child(Field::kValue)
               : Node{};
  }
  if (!syntax::string_value(name, text) || text != kVariable) return {};
  if (parent.is(Kind::kPair) && name.field() == Field::kKey) return parent.child(Field::kValue);
  if (parent.is(Kind::kSubscript) && parent.field() == Field::kLeft)
    return parent.parent().child(Field::kRight);
  if (!parent.is(Kind::kArgumentList) || parent.first_child() != name) return {};
  return syntax::positional(parent.parent(), 1);
}

void check_value(Node name, Reporter& reporter) {
  const Node value = value_of(name);
  std::string text;
  if (!value.is(Kind::kString) || !syntax::string_value(value, text) || text.empty()) return;
  const auto at = value.text().find(text);
  if (at == std::string_view::npos) return;
  const std::uint32_t start = value.start() + static_cast<std::uint32_t>(at);
  check_list(text, {start, start + static_cast<std::uint32_t>(text.size())}, "", reporter);
}

// The architecture "sm_70" in "-arch=sm_70" or "-gencode=arch=compute_70,code=sm_70"; "" if the
// flag names none, or only PTX.
std::string_view real_arch(std::string_view flag) {
  if (flag.find("arch=") == std::string_view::npos) return {};
  const auto at = flag.find("sm_");
  if (at == std::string_view::npos) return {};
  std::size_t end = at + 3;
  while (end < flag.size() && base::is_identifier_char(flag[end])) ++end;
  return flag.substr(at, end - at);
}

// Reports flags of nvcc that name exactly one architecture: torch then ignores the list in the
// environment.
void check_flags(Node list, Reporter& reporter) {
  Node only;
  int count = 0;
  for (const Node item : list.children()) {
    std::string text;
    if (!item.is(Kind::kString) || !syntax::string_value(item, text)) {
      if (!item.is(Kind::kString)) return;  // other code adds to the list
      continue;
    }
    if (real_arch(text).empty()) {
      if (text.find("code=") != std::string::npos) ++count;
      continue;
    }
    only = item;
    ++count;
  }
  if (count != 1) return;
  std::string text;
  if (!syntax::string_value(only, text)) return;
  Finding& finding = reporter.report(
      only, fmt::format(
                "The kernels are built for `{}` alone and TORCH_CUDA_ARCH_LIST is ignored: {} GPUs "
                "raise \"no kernel image is available\".",
                real_arch(text), text.find("code=") == std::string::npos ? "older" : "other"));
  Fix fix;
  fix.title =
      "drop the flag: torch then builds for the GPUs of TORCH_CUDA_ARCH_LIST (set it where the "
      "build host has no GPU)";
  finding.fix.push_back(std::move(fix));
}

bool holds_nvcc_flags(Node list) {
  const Node parent = list.parent();
  std::string key;
  if (parent.is(Kind::kPair))
    return syntax::string_value(parent.child(Field::kKey), key) && key == "nvcc";
  return parent.is(Kind::kKeywordArgument) &&
         parent.child(Field::kName).text() == "extra_cuda_cflags";
}

void check_python(const PythonContext& context, Node node, Reporter& reporter) {
  (void)context;
  if (node.is(Kind::kList)) {
    if (holds_nvcc_flags(node)) check_flags(node, reporter);
  } else if (node.is(Kind::kString) || node.text() == kVariable) {
    check_value(node, reporter);
  }
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kString, Kind::kIdentifier, Kind::kList},
                                .python = &check_python,
                                .file_kinds = {FileKind::kDockerfile, FileKind::kCMake},
                                .text = &check_text}};

}  // namespace

}  // namespace torchport::rules::cuda_arch_list
