// TP701: whether the build host has a GPU decides whether CUDA kernels are built.
#include "source/rules/rule.h"

#include <fmt/format.h>

#include "source/rules/build/common/build_script.h"
#include "source/rules/build/common/deciding.h"
#include "source/rules/edits.h"
#include "source/rules/optional.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"

namespace torchport::rules::extension_gated_on_gpu {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP701",
    .name = "extension-gated-on-gpu",
    .family = "build",
    .severity = Severity::kError,
    .summary = "a GPU in the build host decides whether CUDA extensions are built",
};

constexpr std::string_view kMessage =
    "On a build host without a GPU this is False even if torch and the toolkit are made for CUDA, "
    "so the kernels are not built.";

// Whether the test can be overridden in the environment: `torch.cuda.is_available() or
// os.getenv("FORCE_CUDA") == "1"`, `not os.getenv("TORCH_CUDA_ARCH_LIST") and not
// torch.cuda.is_available()`.
bool is_overridden(const SemanticModel& model, Node call) {
  bool negated = false;
  for (Node node = call;
       node.parent().is_any(Kind::kBooleanOperator, Kind::kParenthesized, Kind::kNotOperator);
       node = node.parent()) {
    const Node parent = node.parent();
    negated ^= parent.is(Kind::kNotOperator);
    if (!parent.is(Kind::kBooleanOperator)) continue;
    if (parent.child(Field::kOperator).text() != (negated ? "and" : "or")) continue;
    const Node other =
        node.field() == Field::kLeft ? parent.child(Field::kRight) : parent.child(Field::kLeft);
    const bool asks = !negated || syntax::unwrap(other).is(Kind::kNotOperator);
    if (asks && reads_environment(model, other)) return true;
  }
  return false;
}

bool is_number_text(Node node, std::string_view text) {
  return node.is(Kind::kInteger) && node.text() == text;
}

// A test whether there is any device: the call of is_available(), or `device_count() > 0`.
struct DeviceTest {
  Node whole;           // what a fix replaces
  bool absent = false;  // true if there is none: `device_count() == 0`
};

// The test that a call of device_count() is part of; invalid for a count that is used as one.
DeviceTest count_test(Node call) {
  const Node parent = call.parent();
  if (parent.is(Kind::kComparison)) {
    const auto parts = parent.children();
    if (parts.size() != 3 || parts[0] != call) return {};
    const std::string_view sign = parts[1].text();
    const bool zero = is_number_text(parts[2], "0");
    if ((zero && (sign == ">" || sign == "!=")) || (is_number_text(parts[2], "1") && sign == ">="))
      return {parent, false};
    if ((zero && (sign == "==" || sign == "<=")) || (is_number_text(parts[2], "1") && sign == "<"))
      return {parent, true};
    return {};
  }
  const bool truth =
      parent.is_any(Kind::kBooleanOperator, Kind::kNotOperator, Kind::kConditional) ||
      call.field() == Field::kCondition;
  return truth ? DeviceTest{call, false} : DeviceTest{};
}

DeviceTest device_test(const SemanticModel& model, Node call) {
  const std::string& name = model.called(call);
  if (name == "torch.cuda.is_available") return {call, false};
  return name == "torch.cuda.device_count" ? count_test(call) : DeviceTest{};
}

// --- the fix ------------------------------------------------------------------------

// The name of CUDA_HOME at this place; "" if it has to be imported.
std::string cuda_home(const SemanticModel& model, Node at) {
  for (const semantics::Binding* binding : model.scopes().all("CUDA_HOME", at)) {
    if (binding->qualified == "torch.utils.cpp_extension.CUDA_HOME") return "CUDA_HOME";
  }
  for (const std::string_view module : {"cpp_extension", "cpp_ext"}) {
    for (const semantics::Binding* binding : model.scopes().all(module, at)) {
      if (binding->qualified == "torch.utils.cpp_extension")
        return fmt::format("{}.CUDA_HOME", module);
    }
  }
  return {};
}

// The module's own `from torch.utils.cpp_extension import ...`, to which the name is added.
Node import_of_extensions(const SemanticModel& model) {
  for (Node node = model.tree().root().first_child(); node; node = node.next_sibling()) {
    if (node.is(Kind::kImportFrom) &&
        node.child(Field::kModuleName).text() == "torch.utils.cpp_extension")
      return node.child(Field::kName);
  }
  return {};
}

bool tests_cuda_home(Node node) {
  node = syntax::unwrap(node);
  return node.text().find("CUDA_HOME") != std::string_view::npos &&
         !node.is(Kind::kBooleanOperator);
}

// `torch.cuda.is_available() and CUDA_HOME is not None` is replaced as one.
Node replaced(Node test) {
  const Node parent = test.parent();
  if (!parent.is(Kind::kBooleanOperator) || parent.child(Field::kOperator).text() != "and")
    return test;
  const Node other =
      test.field() == Field::kLeft ? parent.child(Field::kRight) : parent.child(Field::kLeft);
  if (!tests_cuda_home(other)) return test;
  return parent.parent().is(Kind::kParenthesized) ? parent.parent() : parent;
}

Fix make_fix(const PythonContext& context, Node call, const DeviceTest& test) {
  Fix fix;
  fix.title = "decide by torch.version.cuda and CUDA_HOME, and let FORCE_CUDA=1 override it";
  const SemanticModel& model = context.model;
  std::string home = cuda_home(model, call);
  const Node import = import_of_extensions(model);
  const Node cuda = object_of(call);
  const Node torch = cuda.is(Kind::kAttribute) ? cuda.child(Field::kObject) : Node{};
  if ((home.empty() && !import) || !torch ||
      model.scopes().is_bound_anywhere("CUDA_HOME") != (home == "CUDA_HOME"))
    return fix;
  if (home.empty()) {
    // An import with one name per line keeps that form.
    const base::Span gap{import.end(),
                         import.next_sibling() ? import.next_sibling().start() : import.end()};
    const std::string_view source = model.tree().source();
    const bool own_line =
        source.substr(gap.start, gap.size()).find('\n') != std::string_view::npos &&
        base::trim(model.tree().lines().line(model.tree().lines().at(import.start()).line))
            .starts_with(import.text());
    fix.edits.push_back(insert_before(
        import, own_line ? fmt::format("CUDA_HOME,{}{}", newline_of(import), indentation_of(import))
                         : "CUDA_HOME, "));
    home = "CUDA_HOME";
  }
  if (!model.scopes().is_bound_anywhere("os")) fix.needs.imports.emplace_back("import os");
  const Node whole = test.absent ? test.whole : replaced(test.whole);
  const Node parent = whole.parent();
  const bool truth = parent.is_any(Kind::kIf, Kind::kElif, Kind::kAssert, Kind::kConditional,
                                   Kind::kBooleanOperator, Kind::kNotOperator);
  const bool parenthesized =
      parent.is(Kind::kNotOperator) ||
      (parent.is(Kind::kBooleanOperator) && parent.child(Field::kOperator).text() == "and") ||
      parent.is(Kind::kComparison);
  const std::string text = fmt::format(
      "{}({}.version.cuda and {}) or os.getenv({}, {}) == {}", truth ? "" : "bool", torch.text(),
      home, quoted(model, "FORCE_CUDA"), quoted(model, "0"), quoted(model, "1"));
  fix.applicability = Applicability::kUnsafe;
  if (test.absent)
    fix.edits.push_back(replace(whole, "not (" + text + ")"));
  else
    fix.edits.push_back(replace(whole, parenthesized ? "(" + text + ")" : text));
  return fix;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const DeviceTest test = device_test(model, call);
  if (!test.whole || !is_build_file(context)) return;
  if (is_overridden(model, test.whole) || has_override(model) ||
      !decides_extension(model, test.whole))
    return;
  reporter.report(test.whole, std::string(kMessage)).fix.push_back(make_fix(context, call, test));
}

void check_text(const TextContext& context, Reporter& reporter) {
  constexpr std::string_view kCall = "torch.cuda.is_available";
  for (std::uint32_t number = 1; number <= context.lines.line_count(); ++number) {
    std::string_view line = context.lines.line(number);
    line = line.substr(0, line.find('#'));
    const auto at = line.find(kCall);
    if (at == std::string_view::npos || line.find("message(") < at) continue;
    const auto start = context.lines.line_start(number) + static_cast<std::uint32_t>(at);
    Finding& finding = reporter.report({start, start + static_cast<std::uint32_t>(kCall.size())},
                                       std::string(kMessage));
    Fix fix;
    fix.title = "ask for `torch.version.cuda`, and for the compiler with check_language(CUDA)";
    finding.fix.push_back(std::move(fix));
  }
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kCall},
                                .python = &check,
                                .file_kinds = {FileKind::kCMake},
                                .text = &check_text}};

}  // namespace

}  // namespace torchport::rules::extension_gated_on_gpu
