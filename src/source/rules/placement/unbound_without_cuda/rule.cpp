// TP116: names that only code for CUDA binds, and that other code uses.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/statements.h"
#include "source/semantics/guards.h"

namespace torchport::rules::unbound_without_cuda {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP116",
    .name = "unbound-without-cuda",
    .family = "placement",
    .severity = Severity::kError,
    .summary = "a name that only a branch with CUDA binds is used without CUDA, too",
    .void_with_cuda = true,
};

constexpr auto kBuiltins = std::to_array<std::string_view>(
    {"id",    "input", "type", "max",  "min",  "sum",  "map",      "filter", "format",
     "print", "open",  "dir",  "vars", "iter", "next", "object",   "range",  "hash",
     "len",   "all",   "any",  "bin",  "list", "dict", "set",      "str",    "int",
     "float", "bool",  "zip",  "exit", "quit", "help", "copyright"});

// Whether a block always leaves, or ends with a call of a function of the program that may.
bool may_leave(const SemanticModel& model, Node block) {
  if (!block.is(Kind::kBlock)) return false;
  if (semantics::always_leaves(model, block)) return true;
  Node last;
  for (Node statement = block.first_child(); statement; statement = statement.next_sibling())
    last = statement;
  const Node call = last.is(Kind::kExpressionStatement) ? last.first_child() : Node{};
  if (!call.is(Kind::kCall)) return false;
  const std::string_view name = syntax::end_of_name(syntax::callee(call));
  const auto& functions = model.nodes(Kind::kFunction);
  const auto function = std::find_if(functions.begin(), functions.end(), [&](Node one) {
    return one.child(Field::kName).text() == name;
  });
  return function != functions.end() &&
         semantics::always_leaves(model, (*function).child(Field::kBody));
}

// Whether an `if` around the node ends the program, or the function, where it has no CUDA.
bool leaves_elsewhere(const SemanticModel& model, Node node) {
  for (Node up = node.parent(); up; up = up.parent()) {
    if (!up.is(Kind::kIf)) continue;
    if (may_leave(model, up.child(Field::kConsequence))) return true;
    for (const Node part : up.children()) {
      if (!part.is(Kind::kElse)) continue;
      for (const Node block : part.children())
        if (block.is(Kind::kBlock) && may_leave(model, block)) return true;
    }
  }
  return false;
}

// Whether something else may bind the name: a star, Python itself, or a function by `global`.
bool may_be_bound(const SemanticModel& model, Node scope, std::string_view name) {
  if (!scope.is(Kind::kFunction) && !model.scopes().wildcards().empty()) return true;
  if (base::one_of(kBuiltins, name)) return true;
  const auto& all = model.nodes(Kind::kGlobal);
  return scope.is(Kind::kModule) && std::any_of(all.begin(), all.end(), [&](Node global) {
           return base::contains_word(global.text(), name);
         });
}

// Whether the branches that decide whether a node runs, up to the function or the module around it,
// are none. What else they test may be true only with CUDA.
bool always_runs(Node node) {
  for (Node up = node.parent(); up && !up.is_any(Kind::kFunction, Kind::kModule, Kind::kClass);
       up = up.parent())
    if (up.is_any(Kind::kIf, Kind::kConditional, Kind::kBooleanOperator, Kind::kTry, Kind::kLambda,
                  Kind::kMatch))
      return false;
  return true;
}

bool is_read(Node use) {
  return use.field() != Field::kAttributeName &&
         !(use.parent().is(Kind::kKeywordArgument) && use.field() == Field::kName) &&
         !use.parent().is_any(Kind::kDelete, Kind::kGlobal, Kind::kNonlocal);
}

// The first use of the name that runs without CUDA; invalid if there is none.
Node unguarded_use(const SemanticModel& model, Node scope, const semantics::Binding& first) {
  for (const Node use : model.named(first.name)) {
    if (use.start() <= first.target.end() || !is_read(use) || !always_runs(use)) continue;
    if (model.scopes().owner(first.name, use) != scope) continue;
    if (semantics::knowledge_at(model, use)) continue;
    const auto& bound = model.scopes().all(first.name, use);
    const bool is_target = std::any_of(bound.begin(), bound.end(),
                                       [&](const auto* binding) { return binding->target == use; });
    if (!is_target) return use;
  }
  return {};
}

void check_scope(const PythonContext& context, Node scope, Reporter& reporter) {
  const SemanticModel& model = context.model;
  for (const semantics::Binding* binding : model.scopes().of_scope(scope)) {
    const auto& all = model.scopes().in_scope(scope, binding->name);
    if (all.empty() || all.front() != binding) continue;
    const bool guarded = std::all_of(all.begin(), all.end(), [&](const auto* one) {
      return one->target && semantics::is_cuda_guarded(model, one->target) &&
             !leaves_elsewhere(model, one->target);
    });
    if (!guarded || may_be_bound(model, scope, binding->name)) continue;
    const Node use = unguarded_use(model, scope, *binding);
    if (!use) continue;
    const auto line = model.tree().lines().at(binding->target.start()).line;
    Finding& finding = reporter.report(
        use, fmt::format("Without CUDA `{}` has no value here, and this raises {}: only the branch "
                         "of line {} gives it one.",
                         binding->name,
                         scope.is(Kind::kFunction) && syntax::function_of(use) == scope
                             ? "UnboundLocalError"
                             : "NameError",
                         line));
    finding.fix.push_back(
        {Applicability::kDisplay,
         fmt::format("give `{}` a value without CUDA, too, in an `else`", binding->name),
         {},
         {}});
  }
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (context.model.imports_torch()) check_scope(context, node, reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kModule, Kind::kClass, Kind::kFunction},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::unbound_without_cuda
