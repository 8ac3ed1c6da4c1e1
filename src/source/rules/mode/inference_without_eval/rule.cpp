// TP501: a loaded model makes predictions in train mode.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/inference.h"
#include "source/rules/mode_neutral.h"
#include "source/rules/statements.h"
#include "source/rules/value_history.h"

namespace torchport::rules::inference_without_eval {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP501",
    .name = "inference-without-eval",
    .family = "mode",
    .severity = Severity::kError,
    .summary = "a loaded model makes predictions without `eval()`",
};

// Whether the origin is a whole model out of a file: torch.load(path), torch.load(path)["model"].
bool is_whole_model(const SemanticModel& model, Node origin) {
  if (origin.is(Kind::kSubscript)) {
    const Value holder = model.value(origin.child(Field::kValue));
    return holder.is(Type::kStateDict) && model.called(holder.origin) == "torch.load";
  }
  return model.called(origin) == "torch.load";
}

// Whether the origin is a loaded model, whole or with its weights:
// torchvision.models.resnet18(pretrained=True).
bool is_loaded_origin(const SemanticModel& model, Node origin) {
  if (is_whole_model(model, origin)) return true;
  const std::string& name = model.called(origin);
  if (!name.starts_with("torchvision.models.") && name != "torch.hub.load") return false;
  const Node pretrained = syntax::keyword(origin, "pretrained");
  const Node weights = syntax::keyword(origin, "weights");
  return pretrained.is(Kind::kTrue) || (weights && !weights.is(Kind::kNone));
}

// The call that gave the model its weights: load_state_dict, or the call that created it.
Node loading_of(const SemanticModel& model, const ValueHistory& trace) {
  for (const Node load : calls_on(model, trace, "load_state_dict")) {
    if (object_of(load).is_any(Kind::kIdentifier, Kind::kAttribute)) return load;
  }
  for (const Node origin : trace.origins) {
    if (is_loaded_origin(model, origin)) return origin;
  }
  return {};
}

// The function around a node that returns the value of a name, which other files may use; invalid
// if there is none.
Node giver_of(const SemanticModel& model, Node node, std::string_view name) {
  const Node function = syntax::function_of(node);
  if (!function.is(Kind::kFunction)) return {};
  const std::vector<Node> returned = returns_of(model, function);
  const bool gives = std::any_of(returned.begin(), returned.end(), [&](Node result) {
    return result.text() == name || !model.named(name, result).empty();
  });
  return gives ? function : Node{};
}

constexpr const char* kGivenAway =
    "call `eval()` on the model where it predicts: other files get it from the function that loads "
    "it, and may train it";

// What a loading call gives the weights of a model to; "" if it has no name.
std::string loaded_name(Node loading) {
  if (method_name(loading) == "load_state_dict") return std::string(object_of(loading).text());
  const Node assignment = plain_assignment(syntax::statement_of(loading));
  return assignment ? std::string(assignment.child(Field::kLeft).text()) : std::string();
}

// Inserts eval() after the weights are loaded, at the level of the function's own body, because a
// load under `if` does not always run.
Fix make_fix(Node loading) {
  Fix fix;
  fix.title = "call `eval()` on the model once it is loaded";
  Node statement = syntax::statement_of(loading);
  const std::string name = loaded_name(loading);
  if (name.empty()) return fix;
  while (statement.parent().is(Kind::kBlock) &&
         !statement.parent().parent().is_any(Kind::kFunction, Kind::kClass)) {
    const Node up = syntax::statement_of(statement.parent());
    if (up == statement || up.is_any(Kind::kFunction, Kind::kClass, Kind::kFor, Kind::kWhile))
      break;
    // This is the script's own body.
    if (up.is(Kind::kIf) && up.text().find("__main__") != std::string_view::npos) break;
    statement = up;
  }
  if (!stands_alone(statement) || statement.is_any(Kind::kReturn, Kind::kRaise)) return fix;
  fix.title = fmt::format("add `{}.eval()` after the weights are loaded", name);
  fix.applicability = Applicability::kUnsafe;
  fix.edits = {line_after(statement, name + ".eval()")};
  return fix;
}

// Whether the file computes a loss: then another file may be training the model.
bool computes_loss(const SemanticModel& model) {
  for (const Node call : model.nodes(Kind::kCall)) {
    const std::string name = base::lower(method_name(call));
    if (name.find("loss") != std::string::npos || name.find("criterion") != std::string::npos)
      return true;
  }
  return false;
}

bool is_candidate_file(const PythonContext& context) {
  const std::string& source = context.model.tree().source();
  if (context.is_test() || !context.model.imports_torch()) return false;
  if (source.find("load") == std::string::npos && source.find("pretrained") == std::string::npos)
    return false;
  return source.find(".eval()") == std::string::npos && source.find(".train(") == std::string::npos;
}

bool has_foreign_base(const SemanticModel& model, const semantics::ClassFacts& facts) {
  return std::any_of(facts.bases.begin(), facts.bases.end(), [&](const std::string& base) {
    return base != "object" && base != "abc.ABC" && model.class_named(base) == nullptr;
  });
}

void check(const PythonContext& context, Node root, Reporter& reporter) {
  if (!is_candidate_file(context) || calls_eval(context.model, root) ||
      trains(context.model, root) || computes_loss(context.model))
    return;
  std::vector<Node> reported;
  for (const Node call : context.model.nodes(Kind::kCall)) {
    if (!is_model_call(context.model, call)) continue;
    const semantics::ClassFacts* facts = context.model.enclosing_class(call);
    if (facts != nullptr && facts->is_module) continue;
    // A base class in another file may call eval().
    if (facts != nullptr && has_foreign_base(context.model, *facts)) continue;
    const ValueHistory trace = trace_value(context.model, syntax::callee(call));
    if (trace.origins.size() > 1) continue;  // one of several origins may have called eval()
    if (trace.origins.size() == 1 && is_mode_neutral(context.model, trace.origins.front()))
      continue;
    const Node loading = loading_of(context.model, trace);
    if (!loading || std::find(reported.begin(), reported.end(), loading) != reported.end())
      continue;
    reported.push_back(loading);
    Finding& finding = reporter.report(
        call,
        is_whole_model(context.model, loading)
            ? "A whole model has the mode in which it was saved. Saved while it was trained, it "
              "drops "
              "parts of its input here, and batch norm uses this batch's statistics."
            : "The model is in train mode here: dropout drops and batch norm uses this batch's "
              "statistics, so the results are wrong and change from run to run.");
    finding.unless = evaluated_elsewhere(context.model, trace, syntax::callee(call));
    finding.fix.push_back(make_fix(loading));
    if (const Node giver = giver_of(context.model, loading, loaded_name(loading)))
      finding.lowered.push_back({{flow::Condition::Kind::kUsedElsewhere,
                                  std::string(giver.child(Field::kName).text()),
                                  {}},
                                 Applicability::kDisplay,
                                 kGivenAway});
  }
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kModule}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::inference_without_eval
