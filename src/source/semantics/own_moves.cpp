#include "source/semantics/own_moves.h"

#include <algorithm>

namespace torchport::semantics {

bool names_imported_class(const SemanticModel& model, syntax::Node expression) {
  const std::string& name = model.qualified(expression);
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  return !last.empty() && last.front() >= 'A' && last.front() <= 'Z';
}

namespace {

using syntax::Field;
using syntax::Kind;

constexpr int kMostBases = 16;  // of a class; more are a circle

bool is_move(std::string_view name) {
  return name == "cuda" || name == "to";
}

bool has_method(const SemanticModel& model, const ClassFacts& facts, std::string_view name,
                int depth) {
  if (facts.methods.contains(name)) return true;
  return depth < kMostBases &&
         std::any_of(facts.bases.begin(), facts.bases.end(), [&](const std::string& base) {
           const ClassFacts* other = model.class_named(base);
           return other != nullptr && other != &facts && has_method(model, *other, name, depth + 1);
         });
}

// Whether a value is a function: a lambda, or the name of one of the file.
bool is_function(const SemanticModel& model, Node value) {
  value = syntax::unwrap(value);
  return value.is(Kind::kLambda) ||
         (value.is(Kind::kIdentifier) && model.function_named(value.text(), value));
}

// Whether an expression names a class: one of the file, or an imported name in capitals' case.
bool is_class(const SemanticModel& model, Node object) {
  return model.class_named(object.text()) != nullptr || names_imported_class(model, object);
}

bool has_cuda_string(const SemanticModel& model, Node range) {
  const auto strings = model.nodes(Kind::kString, range);
  std::string text;
  return std::any_of(strings.begin(), strings.end(), [&](Node string) {
    return syntax::string_value(string, text) && text == "cuda";
  });
}

// Whether the class gives attributes by a function that knows "cuda": `def __getattr__(self, name)`
// that compares with it, or that looks into a list of the file that has it.
bool answers_to_cuda(const SemanticModel& model, Node node, const ClassFacts& facts) {
  if (!facts.methods.contains("__getattr__") && !facts.methods.contains("__getattribute__"))
    return false;
  if (has_cuda_string(model, node)) return true;
  for (const Node name : model.nodes(Kind::kIdentifier, node)) {
    for (const Binding* binding : model.scopes().module_level(name.text()))
      if (binding->value && has_cuda_string(model, binding->value)) return true;
  }
  return false;
}

struct Patches {
  explicit Patches(const SemanticModel& model) {
    for (const Node assignment : model.nodes(Kind::kAssignment)) {
      const Node target = assignment.child(Field::kLeft);
      const Node value = syntax::unwrap(assignment.child(Field::kRight));
      const bool setting =
          !value || value.is_any(Kind::kTrue, Kind::kFalse, Kind::kNone, Kind::kString);
      if (target.is(Kind::kIdentifier))
        any |= !setting && is_move(target.text()) &&
               model.scopes().scope_node(target).is(Kind::kClass);
      else if (target.is(Kind::kAttribute))  // not `args.cuda = True`
        any |= !setting && is_move(target.child(Field::kAttributeName).text()) &&
               (is_function(model, value) || is_class(model, target.child(Field::kObject)));
    }
    for (const Node node : model.nodes(Kind::kClass)) {
      const ClassFacts* facts = model.class_facts(node);
      any |= facts != nullptr && !facts->is_module && answers_to_cuda(model, node, *facts);
    }
    std::string name;
    for (const Node call : model.calls_of("setattr"))
      any |= syntax::string_value(syntax::positional(call, 1), name) && is_move(name);
  }
  bool any = false;
};

}  // namespace

bool has_method(const SemanticModel& model, const ClassFacts& facts, std::string_view name) {
  return has_method(model, facts, name, 0);
}

bool patches_moves(const SemanticModel& model) {
  return model.facts<Patches>().any;
}

}  // namespace torchport::semantics
