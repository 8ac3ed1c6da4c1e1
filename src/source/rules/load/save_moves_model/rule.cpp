// TP304: saving a model moves the model itself to the CPU.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"
#include "source/rules/value_history.h"

namespace torchport::rules::save_moves_model {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP304",
    .name = "save-moves-model",
    .family = "load",
    .severity = Severity::kError,
    .summary = "saving a model moves the model itself to the CPU",
    .on_accelerators = true,
};

// Whether a call brings its object to the CPU: M.cpu(), M.to("cpu").
bool goes_to_cpu(const SemanticModel& model, Node call) {
  if (!object_of(call) || !model.called(call).empty()) return false;
  const std::string_view method = method_name(call);
  if (method == "cpu") return syntax::arguments(call).empty();
  if (method != "to") return false;
  const Node target = syntax::argument(call, 0, "device");
  const Node text = model.called(target) == "torch.device" ? syntax::positional(target, 0) : target;
  return model.constant_string(text) == "cpu";
}

// The first name of a dotted expression, `self.net` in `self.net.module`: what a move reaches.
std::string_view root_of(Node object) {
  while (object.is(Kind::kAttribute)) {
    const Node inner = object.child(Field::kObject);
    if (inner.is(Kind::kIdentifier) && (inner.text() == "self" || inner.text() == "cls")) break;
    object = inner;
  }
  return object.text();
}

bool is_of(Node object, std::string_view root) {
  return object.is_any(Kind::kIdentifier, Kind::kAttribute) && root_of(object) == root;
}

// The save that a statement with this call is, or that follows it in its function.
Node save_of(const SemanticModel& model, Node call) {
  for (Node up = call.parent(); up && !up.is_any(Kind::kBlock, Kind::kModule); up = up.parent())
    if (up.is(Kind::kCall) && model.called(up) == "torch.save") return up;
  return {};
}

bool is_save_name(std::string_view name) {
  const std::string text = base::lower(name);
  return text.find("save") != std::string::npos || text.find("checkpoint") != std::string::npos;
}

bool is_save_function(Node function) {
  return function.is(Kind::kFunction) && is_save_name(function.child(Field::kName).text());
}

// Whether a loop runs both places again and again.
bool share_a_loop(Node a, Node b) {
  for (Node up = a.parent(); up && !up.is(Kind::kFunction); up = up.parent())
    if (up.is_any(Kind::kFor, Kind::kWhile) && up.holds(b)) return true;
  return false;
}

bool moves_to_device(const SemanticModel& model, Node move, std::string_view root) {
  return is_of(object_of(move), root) && !goes_to_cpu(model, move);
}

// Whether the function moves the object back: later, in the same loop, or, if it is there to save,
// in another branch.
bool comes_back(const SemanticModel& model, Node call, Node function, std::string_view root) {
  for (const std::string_view method : {"cuda", "to"}) {
    for (const Node move : model.calls_of(method, function ? function : model.tree().root())) {
      if (!moves_to_device(model, move, root)) continue;
      if (move.start() > call.start() || share_a_loop(call, move) || is_save_function(function))
        return true;
    }
  }
  return false;
}

// Whether another method of the class brings the attribute to its device, as each step of a
// training may: `self.model.to(self.device)` outside of the constructor.
bool is_brought_back(const SemanticModel& model, Node function, std::string_view root) {
  const semantics::ClassFacts* facts = model.enclosing_class(function);
  if (facts == nullptr || root.find('.') == std::string_view::npos) return false;
  for (const std::string_view method : {"cuda", "to"}) {
    for (const Node move : model.calls_of(method, facts->node)) {
      const Node owner = syntax::function_of(move);
      if (moves_to_device(model, move, root) && owner.child(Field::kName).text() != "__init__")
        return true;
    }
  }
  return false;
}

// Whether the callers move what they passed back, in the loop that saves or after it.
bool callers_bring_back(const SemanticModel& model, Node function) {
  for (const Node caller : callers_of(model, function)) {
    for (const syntax::Argument& argument : syntax::arguments(caller)) {
      if (!argument.value.is_any(Kind::kIdentifier, Kind::kAttribute)) continue;
      const Node around = syntax::function_of(caller);
      if (comes_back(model, caller, around, root_of(argument.value))) return true;
    }
  }
  return false;
}

// Whether the model is a copy of the function's own, or one that it made or loaded: nobody uses it
// afterwards.
bool is_own(const SemanticModel& model, Node object, Node function) {
  Node base = object;
  while (base.is(Kind::kAttribute)) base = base.child(Field::kObject);
  if (!base.is(Kind::kIdentifier)) return true;
  if (base.text() == model.self_name(base)) return false;
  const auto bindings = model.scopes().reaching(base.text(), base);
  if (bindings.empty()) return true;
  return std::any_of(bindings.begin(), bindings.end(), [&](const semantics::Binding* binding) {
    if (binding->kind == semantics::BindingKind::kParameter) return false;
    if (model.scopes().scope_node(binding->target) != function) return false;
    return true;
  });
}

// Whether the function that calls another one with a model calls the model afterwards.
bool calls_model_after(const SemanticModel& model, Node caller) {
  const Node around = syntax::function_of(caller);
  const auto calls = model.nodes(Kind::kCall, around ? around : model.tree().root());
  const auto arguments = syntax::arguments(caller);
  return std::any_of(calls.begin(), calls.end(), [&](Node call) {
    return call.start() > caller.end() &&
           std::any_of(arguments.begin(), arguments.end(), [&](const syntax::Argument& argument) {
             return argument.value.is_any(Kind::kIdentifier, Kind::kAttribute) &&
                    syntax::callee(call).text() == argument.value.text();
           });
  });
}

// Whether the program goes on with the model: a function that saves what it was given, and is not
// only called once or is called before the model is, or a loop that also calls the model.
bool goes_on(const SemanticModel& model, Node call, Node object, Node function) {
  if (is_save_function(function)) {
    const auto callers = callers_of(model, function);
    return !is_own(model, object, function) &&
           (callers.empty() || std::any_of(callers.begin(), callers.end(), [&](Node caller) {
              return runs_in_loop(caller) || calls_model_after(model, caller);
            }));
  }
  for (Node up = call.parent(); up && !up.is(Kind::kFunction); up = up.parent()) {
    if (!up.is_any(Kind::kFor, Kind::kWhile)) continue;
    for (const Node other : model.nodes(Kind::kCall, up))
      if (syntax::callee(other).text() == object.text()) return true;
  }
  return false;
}

// M.cpu().state_dict() -> {k: v.cpu() for k, v in M.state_dict().items()}
Fix make_fix(Node call) {
  Fix fix;
  fix.title = "copy what is saved to the CPU, and leave the model where it is";
  const Node object = object_of(call);
  const Node attribute = call.parent();
  const Node outer = attribute.parent();
  if (attribute.is(Kind::kAttribute) && outer.is(Kind::kCall) && object_of(outer) == call &&
      method_name(outer) == "state_dict" && syntax::arguments(outer).empty()) {
    fix.edits = {replace(
        outer, fmt::format("{{k: v.cpu() for k, v in {}.state_dict().items()}}", object.text()))};
    fix.applicability = Applicability::kUnsafe;
  }
  return fix;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const std::string_view method = method_name(call);
  if ((method != "cpu" && method != "to") || context.is_test() || !goes_to_cpu(model, call)) return;
  const Node object = object_of(call);
  if (!object.is_any(Kind::kIdentifier, Kind::kAttribute)) return;
  const Node save = save_of(model, call);
  const bool keys = call.parent().is(Kind::kAttribute) &&
                    call.parent().child(Field::kAttributeName).text() == "state_dict";
  const bool whole = save && syntax::positional(save, 0) == call &&
                     (model.value(object).is(Type::kModule) || root_of(object).ends_with("model") ||
                      root_of(object).ends_with("net"));
  if (!whole && !(keys && (save || is_save_function(syntax::function_of(call))))) return;
  const Node function = syntax::function_of(call);
  const std::string_view root = root_of(object);
  if (!goes_on(model, call, object, function) || comes_back(model, call, function, root) ||
      is_brought_back(model, function, root) || callers_bring_back(model, function))
    return;
  reporter
      .report(
          base::Span{object.end() + 1, call.end()},
          fmt::format("This moves `{}` itself to the CPU, and nothing moves it back: the next "
                      "step of a training on a device raises \"Expected all tensors to be on the "
                      "same device\".",
                      object.text()))
      .fix.push_back(make_fix(call));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::save_moves_model
