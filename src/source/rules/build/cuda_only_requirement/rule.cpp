// TP703: requirements that only a machine with CUDA can fulfil.
#include "source/rules/rule.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "source/rules/build/common/generated.h"
#include "source/rules/build/common/requirement.h"
#include "source/rules/edits.h"

namespace torchport::rules::cuda_only_requirement {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP703",
    .name = "cuda-only-requirement",
    .family = "build",
    .severity = Severity::kWarning,
    .summary = "a requirement pins a CUDA-only build or package",
};

struct Line {
  std::string_view text;     // trimmed, without comment
  std::uint32_t offset = 0;  // of the text in the file
};

// Removes a line's comment: ` #`, or a `#` at its start.
Line line_of(const TextContext& context, std::uint32_t number) {
  std::string_view text = context.lines.line(number);
  const std::uint32_t start = context.lines.line_start(number);
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    if (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t') {
      text = text.substr(0, at);
      break;
    }
  }
  const auto first = text.find_first_not_of(" \t");
  return {base::trim(text),
          start + static_cast<std::uint32_t>(first == std::string_view::npos ? 0 : first)};
}

using PlacedPin = std::pair<Pin, std::uint32_t>;  // with the offset of its text in the file

// The pins of a requirements file, in order.
std::vector<PlacedPin> pins_of(const TextContext& context) {
  std::vector<PlacedPin> pins;
  const auto add = [&](std::optional<Pin> pin, std::uint32_t offset) {
    if (pin) pins.emplace_back(std::move(*pin), offset);
  };
  for (std::uint32_t number = 1; number <= context.lines.line_count(); ++number) {
    const Line line = line_of(context, number);
    const bool is_address = line.text.starts_with("http");
    if (line.text.starts_with('-') || is_address) add(pin_of_index(line.text), line.offset);
    if (!line.text.starts_with('-') && !line.text.empty())
      add(pin_of_requirement(line.text), line.offset);
  }
  return pins;
}

// One finding for a file that is written anew from another one, without a change in it.
void report_generated(std::vector<PlacedPin> pins, const std::string& source, Reporter& reporter) {
  auto& [pin, offset] = pins.front();
  const std::string others =
      pins.size() == 1 ? std::string("this requirement")
                       : fmt::format("this requirement and {} more like it", pins.size() - 1);
  pin.message =
      fmt::format("This file is generated: without CUDA {} cannot be installed, or {} useless.",
                  others, pins.size() == 1 ? "is" : "are");
  pin.fix = {};
  pin.fix.title = fmt::format("change {} and generate this file again", source);
  report_pin(reporter, std::move(pin), offset);
}

void check_requirement(Reporter& reporter, std::string_view text, std::uint32_t offset) {
  if (auto pin = pin_of_requirement(text)) report_pin(reporter, std::move(*pin), offset);
}

void check_requirements(const TextContext& context, Reporter& reporter) {
  std::vector<PlacedPin> pins = pins_of(context);
  if (pins.empty()) return;
  if (const auto source = source_of_generated(context.path, context.text))
    return report_generated(std::move(pins), *source, reporter);
  for (auto& [pin, offset] : pins) report_pin(reporter, std::move(pin), offset);
}

std::string_view unquoted(std::string_view text, std::uint32_t& offset) {
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'') ||
      text.back() != text.front())
    return text;
  ++offset;
  return text.substr(1, text.size() - 2);
}

// Checks environment.yml: the items of `dependencies`, and below `- pip:` those of pip.
void check_conda(const TextContext& context, Reporter& reporter) {
  std::size_t pip_indent = std::string_view::npos;
  for (std::uint32_t number = 1; number <= context.lines.line_count(); ++number) {
    const Line line = line_of(context, number);
    if (!line.text.starts_with("- ")) continue;
    const std::size_t indent = line.offset - context.lines.line_start(number);
    const auto gap = line.text.find_first_not_of(' ', 1);
    auto offset = static_cast<std::uint32_t>(line.offset + gap);
    const std::string_view item = unquoted(line.text.substr(gap), offset);
    if (pip_indent != std::string_view::npos && indent <= pip_indent)
      pip_indent = std::string_view::npos;
    if (item == "pip:") {
      pip_indent = indent;
    } else if (pip_indent == std::string_view::npos) {
      if (auto pin = pin_of_conda(item)) report_pin(reporter, std::move(*pin), offset);
    } else if (item.starts_with('-')) {
      if (auto pin = pin_of_index(item)) report_pin(reporter, std::move(*pin), offset);
    } else {
      check_requirement(reporter, item, offset);
    }
  }
}

// --- pyproject.toml -------------------------------------------------------------

// Whether every user installs the entries of this section.
bool is_poetry_section(std::string_view section) {
  return section == "tool.poetry.dependencies";
}

// Checks the strings in a line of an array: each is a requirement.
void check_strings(Reporter& reporter, std::string_view text, std::uint32_t offset) {
  for (std::size_t at = text.find_first_of("\"'"); at != std::string_view::npos;
       at = text.find_first_of("\"'", at + 1)) {
    const auto end = text.find(text[at], at + 1);
    if (end == std::string_view::npos) return;
    check_requirement(reporter, text.substr(at + 1, end - at - 1),
                      offset + static_cast<std::uint32_t>(at) + 1);
    at = end;
  }
}

// Checks cupy-cuda11x = "^9.0"; torch = "1.6.0+cu101"; torch = {url = "https://...cu118....whl"}
void check_poetry(Reporter& reporter, const Line& line) {
  const auto equals = line.text.find('=');
  if (equals == std::string_view::npos ||
      line.text.find("optional = true") != std::string_view::npos ||
      line.text.find("markers") != std::string_view::npos)
    return;
  if (auto pin = pin_of_requirement(base::trim(line.text.substr(0, equals)))) {
    report_pin(reporter, std::move(*pin), line.offset);
    return;
  }
  const std::string_view value = line.text.substr(equals);
  const std::string whole =
      fmt::format("={}", value);  // makes the version in an inline table look like a pin
  if (auto pin = pin_of_requirement(whole)) {
    for (Edit& edit : pin->fix.edits) edit.span = {edit.span.start - 1, edit.span.end - 1};
    pin->message =
        "This is a CUDA build for some platforms; elsewhere there is no such version, or pip "
        "refuses it.";
    if (!pin->fix.edits.empty())
      pin->fix.title = "drop the `+cu...` and let the index decide which build it is";
    pin->span = {static_cast<std::uint32_t>(value.find_first_not_of("= ")),
                 static_cast<std::uint32_t>(value.size())};
    report_pin(reporter, std::move(*pin), line.offset + static_cast<std::uint32_t>(equals));
  }
}

void check_pyproject(const TextContext& context, Reporter& reporter) {
  std::string section;
  bool in_array = false;
  for (std::uint32_t number = 1; number <= context.lines.line_count(); ++number) {
    const Line line = line_of(context, number);
    if (!in_array && line.text.starts_with('[')) {
      section = std::string(line.text.substr(1, line.text.find(']') - 1));
      continue;
    }
    if (is_poetry_section(section)) {
      check_poetry(reporter, line);
      continue;
    }
    const bool opens = (section == "project" && line.text.starts_with("dependencies")) ||
                       (section == "build-system" && line.text.starts_with("requires"));
    if (!in_array && !opens) continue;
    const auto bracket = in_array ? 0 : line.text.find('[');
    if (bracket == std::string_view::npos) continue;
    check_strings(reporter, line.text.substr(bracket),
                  line.offset + static_cast<std::uint32_t>(bracket));
    // Extras are in brackets, too: "torch[all]". The array ends with a bracket outside of quotes.
    in_array = !line.text.ends_with(']');
  }
}

void check_text(const TextContext& context, Reporter& reporter) {
  if (is_cuda_variant(context.path)) return;
  const bool conda = context.path.ends_with(".yml") || context.path.ends_with(".yaml");
  if (context.kind == FileKind::kPyproject)
    check_pyproject(context, reporter);
  else if (conda)
    check_conda(context, reporter);
  else
    check_requirements(context, reporter);
}

// Checks setup(install_requires=["torch==1.6.0+cu101"]), also through a name.
void check_setup(const PythonContext& context, Node call, Reporter& reporter) {
  const std::string_view name = method_name(call);
  if (name != "setup") return;
  Node required = syntax::unwrap(syntax::keyword(call, "install_requires"));
  if (required.is(Kind::kIdentifier)) {
    const auto bindings = context.model.scopes().reaching(required.text(), required);
    if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kAssign) return;
    required = syntax::unwrap(bindings.front()->value);
  }
  if (!required.is_any(Kind::kList, Kind::kTuple)) return;
  for (const Node item : required.children()) {
    std::string value;
    if (!item.is(Kind::kString) || !syntax::string_value(item, value)) continue;
    const auto start = item.text().find(value);
    if (start == std::string_view::npos) continue;
    check_requirement(reporter, item.text().substr(start, value.size()),
                      item.start() + static_cast<std::uint32_t>(start));
  }
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kCall},
                                .python = &check_setup,
                                .file_kinds = {FileKind::kRequirements, FileKind::kPyproject},
                                .text = &check_text}};

}  // namespace

}  // namespace torchport::rules::cuda_only_requirement
