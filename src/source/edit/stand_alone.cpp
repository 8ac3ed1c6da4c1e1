#include "source/edit/stand_alone.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

namespace torchport::edit {

namespace {

using semantics::Binding;
using semantics::SemanticModel;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

constexpr int kMaxSteps = 4;

template <std::size_t kSize>
bool is_one_of(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool compiles(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames{
      "torch.jit.script", "torch.jit.script_method", "torch.jit.script_if_tracing",
      "torch.jit.export"};
  return is_one_of(kNames, name);
}

bool copies(std::string_view name) {
  static constexpr std::array<std::string_view, 2> kNames{"inspect.getsource",
                                                          "inspect.getsourcelines"};
  return is_one_of(kNames, name);
}

// What TorchScript leaves to Python.
bool stays_in_python(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kNames{"torch.jit.ignore", "torch.jit.unused",
                                                          "torch.jit._drop"};
  return is_one_of(kNames, name);
}

template <class Test>
bool has_decorator(const SemanticModel& model, Node definition, Test test) {
  const Node parent = definition.parent();
  if (!parent.is(Kind::kDecorated)) return false;
  for (Node decorator = parent.first_child(); decorator.is(Kind::kDecorator);
       decorator = decorator.next_sibling()) {
    const Node what = decorator.first_child();
    if (test(what.is(Kind::kCall) ? model.called(what) : model.qualified(what))) return true;
  }
  return false;
}

using Definitions = std::unordered_map<std::string_view, std::vector<Node>>;

// The functions and classes of a file by the names under which code mentions them.
Definitions definitions_of(const SemanticModel& model) {
  Definitions definitions;
  for (const Kind kind : {Kind::kFunction, Kind::kClass})
    for (const Node node : model.nodes(kind))
      definitions[node.child(Field::kName).text()].push_back(node);
  return definitions;
}

// Collects what a file gives to one kind of function: torch.jit.script or inspect.getsource.
class Taken {
 public:
  explicit Taken(const SemanticModel& model) : model_(model), definitions_(definitions_of(model)) {}

  void add(Node definition) {
    if (seen_.insert(definition.index()).second) list_.push_back(definition);
  }

  // Adds what an expression means: a function, a class, or `Net(3).eval()`.
  void add_value(Node expression, int step = 0) {
    expression = syntax::unwrap(expression);
    while (expression.is(Kind::kCall)) {
      const Node callee = syntax::callee(expression);
      const Node object = callee.child(Field::kObject);
      const bool method = object.is(Kind::kCall) ||
                          (object.is(Kind::kIdentifier) && model_.called(expression).empty());
      expression = method ? object : callee;
    }
    if (expression.is(Kind::kAttribute)) return add_attribute(expression, step);
    if (!expression.is(Kind::kIdentifier)) return;
    add_named(expression.text());
    if (step == kMaxSteps) return;
    for (const Binding* binding : model_.scopes().reaching(expression.text(), expression))
      if (binding->value && binding->kind == semantics::BindingKind::kAssign)
        add_value(binding->value, step + 1);
  }

  // Adds what the taken functions use, as far as this file defines it.
  void follow_uses() {
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const Node taken = list_[i];
      for (std::uint32_t at = taken.index() + 1; at < taken.subtree_end(); ++at) {
        const Node node = model_.tree().at(at);
        if (node.is(Kind::kAttribute) && !in_python(node, taken)) add_attribute(node, 0);
        if (!node.is(Kind::kIdentifier) || node.field() == Field::kAttributeName ||
            node.field() == Field::kName || !definitions_.contains(node.text()))
          continue;
        // The modules that __init__ makes are compiled, what else it calls is not.
        const semantics::ClassFacts* made = model_.class_named(node.text());
        if (!in_python(node, taken) || (made != nullptr && made->is_module)) add_named(node.text());
      }
    }
  }

  // The code of the functions, and of the methods of the classes.
  [[nodiscard]] std::vector<base::Span> spans() const {
    std::vector<base::Span> result;
    for (const Node taken : list_) {
      if (taken.is(Kind::kFunction)) {
        result.push_back(taken.span());
        continue;
      }
      for (const Node method : model_.nodes(Kind::kFunction, taken))
        if (!in_python(method.child(Field::kBody), taken)) result.push_back(method.span());
    }
    return result;
  }

 private:
  void add_named(std::string_view name) {
    const auto found = definitions_.find(name);
    if (found == definitions_.end()) return;
    for (const Node definition : found->second) add(definition);
  }

  void add_attribute(Node attribute, int step) {
    const Node object = attribute.child(Field::kObject);
    const std::string_view name = attribute.child(Field::kAttributeName).text();
    const semantics::ClassFacts* facts = model_.enclosing_class(attribute);
    if (facts == nullptr || object.text() != model_.self_name(attribute)) return;
    if (const auto method = facts->methods.find(name); method != facts->methods.end())
      add(method->second);
    const auto found = facts->attributes.find(name);
    if (found == facts->attributes.end() || step == kMaxSteps) return;
    for (const auto& assigned : found->second) add_value(assigned.value, step + 1);
  }

  // Whether the code is in a method of the class that runs in Python only.
  [[nodiscard]] bool in_python(Node node, Node taken) const {
    for (Node up = node.parent(); up && up != taken.parent(); up = up.parent()) {
      if (!up.is(Kind::kFunction)) continue;
      if (taken.is(Kind::kClass) && up.child(Field::kName).text() == "__init__") return true;
      if (has_decorator(model_, up, stays_in_python)) return true;
    }
    return false;
  }

  const SemanticModel& model_;
  Definitions definitions_;
  std::unordered_set<std::uint32_t> seen_;
  std::vector<Node> list_;
};

template <class Test>
void take(const SemanticModel& model, Test test, Taken& taken) {
  for (const Node call : model.nodes(Kind::kCall)) {
    if (!test(model.called(call))) continue;
    if (const Node argument = call.child(Field::kArguments).first_child())
      taken.add_value(argument);
  }
  for (const Kind kind : {Kind::kFunction, Kind::kClass})
    for (const Node definition : model.nodes(kind))
      if (has_decorator(model, definition, test)) taken.add(definition);
}

}  // namespace

StandAlone::StandAlone(const SemanticModel& model) {
  const std::string& source = model.tree().source();
  if (source.find("jit") != std::string::npos) {
    Taken taken(model);
    take(model, compiles, taken);
    taken.follow_uses();
    compiled_ = outermost(taken.spans());
  }
  if (source.find("getsource") != std::string::npos) {
    Taken taken(model);
    take(model, copies, taken);
    copied_ = outermost(taken.spans());
  }
}

}  // namespace torchport::edit
