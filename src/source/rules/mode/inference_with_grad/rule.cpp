// TP502: inference while autograd records gradients.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/inference.h"
#include "source/rules/mode/inference_with_grad/record.h"
#include "source/rules/statements.h"
#include "source/rules/value_history.h"

namespace torchport::rules::inference_with_grad {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP502",
    .name = "inference-with-grad",
    .family = "mode",
    .severity = Severity::kWarning,
    .summary = "an inference records gradients that nothing uses",
};

// Facts about the whole file.
struct File {
  explicit File(const SemanticModel& model) : trains(rules::trains(model, model.tree().root())) {
    const std::string& source = model.tree().source();
    for (const std::string_view word : {"no_grad", "inference_mode", "set_grad_enabled"})
      says_no_grad |= source.find(word) != std::string::npos;
  }
  bool trains;
  bool says_no_grad = false;
};

// Whether `x.eval()` is called below the node for exactly this name.
bool evals(const SemanticModel& model, Node range, std::string_view name) {
  const auto calls = model.calls_of("eval", range);
  return std::any_of(calls.begin(), calls.end(), [&](Node call) {
    return object_of(call).text() == name && syntax::arguments(call).empty();
  });
}

// Whether the model is in eval mode at a call of it, as far as the scope says: the last `x.eval()`
// or `x.train()` before it decides, or any below it where it runs again.
bool is_in_eval_mode(const SemanticModel& model, Node scope, Node call) {
  const std::string_view name = syntax::callee(call).text();
  Node last;
  bool trains_later = false;
  for (const std::string_view method : {"eval", "train"}) {
    for (const Node mode : model.calls_of(method, scope)) {
      if (object_of(mode).text() != name) continue;
      if (mode.start() > call.start())
        trains_later |= method == "train" && !syntax::positional(mode, 0).is(Kind::kFalse);
      else if (!last || mode.start() > last.start())
        last = mode;
    }
  }
  if (!last) return !trains_later && evals(model, scope, name);
  return method_name(last) == "eval" || syntax::argument(last, 0, "mode").is(Kind::kFalse);
}

bool is_loaded(const SemanticModel& model, Node callee) {
  const ValueHistory trace = trace_value(model, callee);
  if (trace.origins.size() > 1) return false;
  if (!calls_on(model, trace, "load_state_dict").empty()) return true;
  return std::any_of(trace.origins.begin(), trace.origins.end(),
                     [&](Node origin) { return model.called(origin) == "torch.load"; });
}

// Whether this call of a network is certainly an inference.
bool is_inference(const PythonContext& context, Node scope, Node call) {
  const SemanticModel& model = context.model;
  const Node callee = syntax::callee(call);
  if (scope.is(Kind::kModule) && !is_loaded(model, callee)) return false;  // a self-test
  if (is_in_eval_mode(model, scope, call)) return true;
  const semantics::ClassFacts* facts = model.enclosing_class(call);
  if (facts != nullptr) {
    // A predictor: its constructor calls eval() on what its methods call.
    const bool own = callee.is(Kind::kAttribute) && scope.child(Field::kName).text() != "__init__";
    return own && evals(model, facts->node, callee.text()) && !trains(model, facts->node);
  }
  if (model.facts<File>().trains || model.facts<File>().says_no_grad) return false;
  // A function without parameters is a self-test of a layer.
  const bool named = scope.is(Kind::kFunction) &&
                     is_inference_name(scope.child(Field::kName).text()) &&
                     scope.child(Field::kParametersPart).first_child();
  return named || is_loaded(model, callee);
}

// Whether the result is dropped: `_ = model(x)`.
bool is_thrown_away(Node call) {
  const Node parent = call.parent();
  return parent.is(Kind::kExpressionStatement) ||
         (parent.is(Kind::kAssignment) && parent.child(Field::kLeft).text() == "_");
}

// Whether a script, or a function of it, calls the model once. An object may be asked again.
bool runs_once(Node call) {
  return !syntax::class_of(call) && !runs_in_loop(call);
}

Fix make_fix(const PythonContext& context, Node scope) {
  Fix fix;
  fix.title = "run it under `with torch.no_grad():`";
  const Node first = scope.is(Kind::kFunction) ? scope : Node{};
  if (!first || !context.model.nodes(Kind::kYield, first).empty() ||
      first.text().starts_with("async"))
    return fix;
  const std::string& source = scope.tree()->source();
  std::uint32_t start = first.start();
  while (start > 0 && (source[start - 1] == ' ' || source[start - 1] == '\t')) --start;
  if (start > 0 && source[start - 1] != '\n' && source[start - 1] != '\r') return fix;
  const std::string decorator = fmt::format("@{}.no_grad()", context.devices.torch_name());
  fix.title = fmt::format("decorate the function with `{}`", decorator);
  fix.applicability = Applicability::kUnsafe;
  fix.edits = {line_before(first, decorator)};
  fix.needs.imports.emplace_back("import torch");
  return fix;
}

void check_scope(const PythonContext& context, Node scope, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const semantics::ClassFacts* facts = model.enclosing_class(scope);
  if (facts != nullptr && (facts->is_module || facts->has_forward)) return;
  for (const Node call : model_calls(model, scope)) {
    if (!is_inference(context, scope, call) || uses_gradients(model, scope)) continue;
    if (gradients_off(model, call)) continue;
    const bool for_nothing = gives_up_record(model, call);
    if (for_nothing && (is_thrown_away(call) || runs_once(call))) continue;
    reporter
        .report(call, for_nothing
                          ? "Autograd records this inference for nothing: until the result is "
                            "read, all activations stay in memory."
                          : "Autograd records this inference: memory grows with every batch that "
                            "is kept, and `.numpy()` of the result raises because it requires "
                            "grad.")
        .fix.push_back(make_fix(context, scope));
    return;
  }
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (context.is_test() || !context.model.imports_torch()) return;
  check_scope(context, node, reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kModule, Kind::kFunction},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::inference_with_grad
