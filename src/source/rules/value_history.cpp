#include "source/rules/value_history.h"

#include <algorithm>

#include "source/rules/edits.h"
#include "source/rules/rule.h"

namespace torchport::rules {

namespace {

constexpr std::size_t kMaxSteps = 64;

// Whether a method returns the same model or tensor.
bool hands_on(std::string_view method) {
  for (const std::string_view name : {"cuda", "cpu", "to", "eval", "train", "half", "float",
                                      "double", "requires_grad_", "apply", "bfloat16"}) {
    if (name == method) return true;
  }
  return false;
}

class HistoryFinder {
 public:
  explicit HistoryFinder(const SemanticModel& model) : model_(model) {}

  ValueHistory run(Node expression) {
    follow(expression);
    while (!work_.empty() && history_.steps.size() < kMaxSteps) {
      const Node next = work_.back();
      work_.pop_back();
      step(next);
    }
    if (!work_.empty()) history_.open = true;
    return std::move(history_);
  }

 private:
  void follow(Node expression) {
    expression = syntax::unwrap(expression);
    if (!expression) return;
    if (std::find(history_.steps.begin(), history_.steps.end(), expression) != history_.steps.end())
      return;
    history_.steps.push_back(expression);
    work_.push_back(expression);
  }

  void step(Node node) {
    if (node.is(Kind::kIdentifier)) return name(node);
    if (node.is(Kind::kAttribute)) return attribute(node);
    if (node.is(Kind::kCall)) return call(node);
    if (node.is(Kind::kConditional)) {
      const auto parts = node.children();
      if (parts.size() == 3) {
        follow(parts[0]);
        follow(parts[2]);
      }
      return;
    }
    history_.origins.push_back(node);
  }

  void name(Node identifier) {
    const auto bindings = model_.scopes().reaching(identifier.text(), identifier);
    if (bindings.empty()) history_.open = true;
    for (const semantics::Binding* binding : bindings) {
      if (binding->kind == semantics::BindingKind::kAssign && !binding->unpacked) {
        follow(binding->value);
      } else if (binding->kind == semantics::BindingKind::kParameter) {
        parameter(*binding);
      } else if (binding->kind != semantics::BindingKind::kAugmented) {
        history_.open = true;
        history_.origins.push_back(identifier);
      }
    }
  }

  void parameter(const semantics::Binding& binding) {
    const Node function = syntax::function_of(binding.target);
    const auto callers = callers_of(model_, function);
    if (callers.empty() || binding.unpacked) history_.open = true;
    std::size_t index = 0;
    for (Node p = function.child(Field::kParametersPart).first_child();
         p && !p.holds(binding.target); p = p.next_sibling()) {
      ++index;
    }
    const bool method = syntax::statement_of(function).parent().parent().is(Kind::kClass);
    for (const Node caller : callers) {
      const bool bound = method && syntax::callee(caller).is(Kind::kAttribute);
      const Node given =
          syntax::argument(caller, bound && index > 0 ? index - 1 : index, binding.name);
      if (given)
        follow(given);
      else
        history_.open = true;
    }
  }

  void attribute(Node node) {
    const Node object = node.child(Field::kObject);
    if (object.is(Kind::kIdentifier) && object.text() == model_.self_name(node)) {
      const semantics::ClassFacts* facts = model_.enclosing_class(node);
      const std::string_view name = node.child(Field::kAttributeName).text();
      if (facts != nullptr && facts->attributes.contains(name)) {
        for (const auto& value : facts->attributes.at(name)) follow(value.value);
        return;
      }
    }
    history_.open = true;
    history_.origins.push_back(node);
  }

  void call(Node node) {
    const Node function = syntax::callee(node);
    const Node object = object_of(node);
    if (object && model_.called(node).empty() && hands_on(method_name(node))) return follow(object);
    const std::string& name = model_.called(node);
    if (name.ends_with("DataParallel") || name == "torch.jit.script" || name == "torch.compile") {
      history_.origins.push_back(node);
      return follow(syntax::positional(node, 0));
    }
    if (function.is(Kind::kIdentifier)) {
      if (const Node local = model_.function_named(function.text(), function)) {
        const auto returns = returns_of(model_, local);
        for (const Node value : returns) follow(value);
        if (!returns.empty()) return;
      }
    }
    history_.origins.push_back(node);
  }

  const SemanticModel& model_;
  ValueHistory history_;
  std::vector<Node> work_;
};

// The part of the tree in which a name at `node` has the same meaning.
Node home_of(const SemanticModel& model, Node node) {
  if (node.is(Kind::kAttribute)) {
    const Node object = node.child(Field::kObject);
    if (object.text() == model.self_name(node)) return syntax::class_of(node);
    return syntax::function_of(node);
  }
  const auto bindings = model.scopes().reaching(node.text(), node);
  if (bindings.empty()) return syntax::function_of(node);
  const Node scope = model.scopes().scope_node(bindings.front()->target);
  return scope;
}

// Whether a name means the same variable at both places: a function may have its own.
bool is_same_name(const SemanticModel& model, Node a, Node b) {
  if (!a.is(Kind::kIdentifier) || !b.is(Kind::kIdentifier)) return true;
  const auto first = model.scopes().all(a.text(), a);
  const auto second = model.scopes().all(b.text(), b);
  return !first.empty() && !second.empty() && first.front() == second.front();
}

}  // namespace

ValueHistory trace_value(const SemanticModel& model, Node expression) {
  return HistoryFinder(model).run(expression);
}

std::vector<Node> calls_on(const SemanticModel& model, const ValueHistory& trace,
                           std::string_view method) {
  std::vector<Node> found;
  const syntax::Tree& tree = model.tree();
  for (const Node step : trace.steps) {
    // x = make().eval(): the call is a part of the chain itself.
    if (step.is(Kind::kCall) && object_of(step) && method_name(step) == method)
      found.push_back(step);
    if (!step.is_any(Kind::kIdentifier, Kind::kAttribute)) continue;
    Node home = home_of(model, step);
    if (!home) home = tree.root();
    for (const Node call : model.calls_of(method, home)) {
      if (object_of(call).text() == step.text() && is_same_name(model, step, object_of(call)))
        found.push_back(call);
    }
  }
  return found;
}

std::vector<Node> callers_of(const SemanticModel& model, Node function) {
  std::vector<Node> callers;
  const std::string_view name = function.child(Field::kName).text();
  if (name.empty()) return callers;
  Node holder = syntax::statement_of(function).parent().parent();
  if (holder.is(Kind::kDecorated)) holder = syntax::statement_of(holder).parent().parent();
  const bool method = holder.is(Kind::kClass);
  for (const Node call : model.calls_of(name)) {
    if (function.holds(call)) continue;
    const Node callee = syntax::callee(call);
    if (method && callee.is(Kind::kAttribute)) callers.push_back(call);
    if (!method && callee.is(Kind::kIdentifier) && model.function_named(name, callee) == function) {
      callers.push_back(call);
    }
  }
  return callers;
}

std::vector<Node> returns_of(const SemanticModel& model, Node function) {
  std::vector<Node> values;
  for (const Node statement : model.nodes(Kind::kReturn, function)) {
    if (syntax::function_of(statement) != function) continue;
    if (const Node value = statement.first_child()) values.push_back(value);
  }
  return values;
}

}  // namespace torchport::rules
