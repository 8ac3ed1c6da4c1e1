#include "source/rules/inference.h"

#include <algorithm>
#include <array>

#include "source/flow/sources.h"
#include "source/rules/edits.h"
#include "source/rules/rule.h"
#include "source/rules/statements.h"
#include "source/rules/value_history.h"

namespace torchport::rules {

namespace {

constexpr int kMaxCallers = 4;

bool turns_gradients_off(Node node) {
  const std::string_view text = node.text();
  if (text.find("no_grad") != std::string_view::npos ||
      text.find("inference_mode") != std::string_view::npos)
    return true;
  return text.find("set_grad_enabled") != std::string_view::npos ||
         text.find("torch_grad") != std::string_view::npos;
}

// torch.set_grad_enabled(False) and torch.autograd.set_grad_enabled(False) as statements: they hold
// for the rest of the program.
struct OffForGood {
  explicit OffForGood(const SemanticModel& model)
      : value(model.tree().source().find("set_grad_enabled(False)") != std::string::npos) {}
  bool value;
};

// Whether the file creates an optimizer of torch.
struct Optimizers {
  explicit Optimizers(const SemanticModel& model) {
    for (const Node call : model.nodes(Kind::kCall)) {
      any = model.called(call).starts_with("torch.optim.");
      if (any) return;
    }
  }
  bool any = false;
};

bool off_by_decorator(Node function) {
  if (!function.parent().is(Kind::kDecorated)) return false;
  for (Node decorator = function.parent().first_child(); decorator.is(Kind::kDecorator);
       decorator = decorator.next_sibling()) {
    if (turns_gradients_off(decorator)) return true;
  }
  return false;
}

bool off_at(const SemanticModel& model, Node node, int depth) {
  for (Node up = node.parent(); up; up = up.parent()) {
    if (up.is(Kind::kWith) && turns_gradients_off(up.first_child())) return true;
    if (!up.is(Kind::kFunction)) continue;
    if (off_by_decorator(up)) return true;
    const auto callers = callers_of(model, up);
    if (depth < kMaxCallers && !callers.empty()) {
      return std::all_of(callers.begin(), callers.end(),
                         [&](Node call) { return off_at(model, call, depth + 1); });
    }
  }
  return false;
}

bool is_network_name(std::string_view name) {
  const std::string text = base::lower(name);
  static constexpr std::array<std::string_view, 12> kNames{
      "model", "net",     "network",   "netg",   "_model", "_net",
      "unet",  "encoder", "generator", "resnet", "vgg",    "classifier"};
  if (std::find(kNames.begin(), kNames.end(), text) != kNames.end()) return true;
  return text.ends_with("_model") || text.ends_with("_net") || text.ends_with("_network") ||
         text.starts_with("model_") || text.starts_with("net_");
}

}  // namespace

bool uses_gradients(const SemanticModel& model, Node range) {
  for (const std::string_view text : {"backward", "zero_grad", "requires_grad", "requires_grad_",
                                      "manual_backward", "enable_grad", "retain_grad"}) {
    if (!model.named(text, range).empty()) return true;
  }
  for (const Node call : model.nodes(Kind::kCall, range)) {
    const std::string name = base::lower(last_name(syntax::callee(call)));
    if (name.find("gradient") != std::string::npos && name.find("checkpoint") == std::string::npos)
      return true;
  }
  for (const Node name : model.named("grad", range)) {
    if (name.field() == Field::kAttributeName || model.qualified(name) == "torch.autograd.grad")
      return true;
  }
  return false;
}

bool trains(const SemanticModel& model, Node range) {
  if (uses_gradients(model, range) || !model.calls_of("train", range).empty() ||
      !model.calls_of("fit", range).empty())
    return true;
  if (!model.facts<Optimizers>().any) return false;
  for (const Node call : model.nodes(Kind::kCall, range)) {
    if (model.called(call).starts_with("torch.optim.")) return true;
  }
  return false;
}

bool gradients_off(const SemanticModel& model, Node node) {
  return model.facts<OffForGood>().value || off_at(model, node, 0);
}

bool is_model_call(const SemanticModel& model, Node call) {
  const Node callee = syntax::callee(call);
  if (!callee.is_any(Kind::kIdentifier, Kind::kAttribute) || syntax::arguments(call).empty())
    return false;
  if (!model.qualified(callee).empty()) return false;
  const Value value = model.value(callee);
  const std::string_view name = last_name(callee);
  if (value.is(Type::kModule)) {
    const bool layer = value.text.starts_with("torch.nn.") &&
                       value.text.find("Parallel") == std::string::npos &&
                       !value.text.ends_with("Sequential");
    return !layer;
  }
  // What torch.load() returned is a whole model if it is called.
  if (value.is(Type::kStateDict)) return model.called(value.origin) == "torch.load";
  if (!value.is(Type::kUnknown) || !is_network_name(name)) return false;
  if (callee.is(Kind::kIdentifier)) {
    return !model.function_named(name, callee) && model.class_named(name) == nullptr;
  }
  const semantics::ClassFacts* facts = model.enclosing_class(callee);
  return callee.child(Field::kObject).text() == model.self_name(callee) && facts != nullptr &&
         !facts->methods.contains(name);
}

std::vector<Node> model_calls(const SemanticModel& model, Node scope) {
  std::vector<Node> calls;
  for (const Node call : model.nodes(Kind::kCall, scope)) {
    const Node owner = syntax::function_of(call);
    const bool own =
        owner == scope || (!owner && scope.is(Kind::kModule) && !syntax::class_of(call));
    if (own && is_model_call(model, call)) calls.push_back(call);
  }
  return calls;
}

bool calls_eval(const SemanticModel& model, Node range) {
  for (const Node call : model.calls_of("eval", range)) {
    if (object_of(call) && syntax::arguments(call).empty()) return true;
  }
  for (const Node call : model.calls_of("train", range)) {
    const auto args = syntax::arguments(call);
    if (object_of(call) && args.size() == 1 && !args.front().value.is(Kind::kTrue)) return true;
  }
  return false;
}

std::vector<flow::Condition> evaluated_elsewhere(const SemanticModel& model,
                                                 const ValueHistory& trace, Node use) {
  std::vector<flow::Condition> conditions;
  const auto add = [&](std::vector<flow::Callee> callees) {
    conditions.push_back({flow::Condition::Kind::kEvaluated, {}, std::move(callees)});
  };
  std::vector<flow::Callee> makers;
  for (const Node origin : trace.origins)
    if (flow::Callee callee = flow::callee_of(model, origin); !callee.empty())
      makers.push_back(std::move(callee));
  if (!makers.empty() && makers.size() == trace.origins.size()) add(std::move(makers));
  const Node function = syntax::function_of(use);
  for (const Node name : model.named(last_name(use), function ? function : model.tree().root())) {
    const Node value = name.field() == Field::kAttributeName ? name.parent() : name;
    Node list = value.parent();
    if (list.is(Kind::kKeywordArgument) && value.field() != Field::kName) list = list.parent();
    if (!list.is(Kind::kArgumentList) || value.end() > use.start() || value.text() != use.text())
      continue;
    if (flow::Callee callee = flow::callee_of(model, list.parent()); !callee.empty())
      add({std::move(callee)});
  }
  return conditions;
}

bool is_inference_name(std::string_view function) {
  const std::string name = base::lower(function);
  static constexpr std::array<std::string_view, 19> kNames{
      "predict",        "infer",         "inference",  "test",       "evaluate",
      "eval",           "validate",      "validation", "demo",       "val",
      "detect",         "run_inference", "do_eval",    "eval_model", "validate_model",
      "evaluate_model", "predict_batch", "test_epoch", "valid"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace torchport::rules
