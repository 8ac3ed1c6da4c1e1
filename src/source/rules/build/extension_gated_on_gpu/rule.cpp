// TP701: whether the build host has a GPU decides whether CUDA kernels are built.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/build/common/build_script.h"
#include "source/rules/edits.h"
#include "source/rules/optional.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"
#include "source/rules/value_history.h"

namespace torchport::rules {

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

// Whether the test can be overridden: `torch.cuda.is_available() or os.getenv("FORCE_CUDA") ==
// "1"`.
bool is_overridden(const SemanticModel& model, Node call) {
  for (Node node = call;
       node.parent().is_any(Kind::kBooleanOperator, Kind::kParenthesized, Kind::kNotOperator);
       node = node.parent()) {
    const Node parent = node.parent();
    if (!parent.is(Kind::kBooleanOperator) || parent.child(Field::kOperator).text() != "or")
      continue;
    const Node other =
        node.field() == Field::kLeft ? parent.child(Field::kRight) : parent.child(Field::kLeft);
    if (reads_environment(model, other)) return true;
  }
  return false;
}

// The outermost expression of operators around the node.
Node condition_around(Node node) {
  while (node.parent().is_any(Kind::kBooleanOperator, Kind::kParenthesized, Kind::kNotOperator,
                              Kind::kComparison))
    node = node.parent();
  return node;
}

bool decides(const SemanticModel& model, Node value, int depth);

bool decides_through(const SemanticModel& model, const std::vector<Node>& uses, int depth) {
  for (const Node use : uses) {
    if (depth < 2 && decides(model, use, depth + 1)) return true;
  }
  return false;
}

// Whether the statements after an `if` that leaves choose an extension.
bool rest_chooses(const SemanticModel& model, Node statement) {
  for (Node next = statement.next_sibling(); next; next = next.next_sibling()) {
    if (chooses_extension(model, next)) return true;
  }
  return false;
}

// Whether an extension depends on the value: in a condition, through a name, or through a function
// that returns it.
bool decides(const SemanticModel& model, Node value, int depth) {
  const Node condition = condition_around(value);
  const Node parent = condition.parent();
  if (parent.is_any(Kind::kIf, Kind::kElif) && condition.field() == Field::kCondition) {
    const Node statement = parent.is(Kind::kElif) ? parent.parent() : parent;
    for (const Node part : statement.children()) {
      if (part.field() != Field::kCondition && chooses_extension(model, part)) return true;
    }
    const auto& exits = model.early_exits(statement.parent());
    return std::find(exits.begin(), exits.end(), statement) != exits.end() &&
           rest_chooses(model, statement);
  }
  if (parent.is(Kind::kConditional)) return chooses_extension(model, syntax::statement_of(parent));
  if (parent.is(Kind::kAssert)) return rest_chooses(model, parent);
  if (parent.is(Kind::kAssignment)) {
    const Node left = parent.child(Field::kLeft);
    return left.is(Kind::kIdentifier) && decides_through(model, reads_of(model, left), depth);
  }
  if (parent.is(Kind::kReturn))
    return decides_through(model, callers_of(model, syntax::function_of(parent)), depth);
  return false;
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
Node replaced(Node call) {
  const Node parent = call.parent();
  if (!parent.is(Kind::kBooleanOperator) || parent.child(Field::kOperator).text() != "and")
    return call;
  const Node other =
      call.field() == Field::kLeft ? parent.child(Field::kRight) : parent.child(Field::kLeft);
  if (!tests_cuda_home(other)) return call;
  return parent.parent().is(Kind::kParenthesized) ? parent.parent() : parent;
}

Fix make_fix(const PythonContext& context, Node call) {
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
  const Node whole = replaced(call);
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
  fix.edits.push_back(replace(whole, parenthesized ? "(" + text + ")" : text));
  return fix;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  if (context.model.called(call) != "torch.cuda.is_available" || !is_build_file(context)) return;
  if (is_overridden(context.model, call) || has_override(context.model) ||
      !decides(context.model, call, 0))
    return;
  reporter.report(call, std::string(kMessage)).fix.push_back(make_fix(context, call));
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

}  // namespace torchport::rules
