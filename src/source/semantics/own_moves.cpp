#include "source/semantics/own_moves.h"

#include <algorithm>

namespace torchport::semantics {

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

struct Patches {
  explicit Patches(const SemanticModel& model) {
    for (const Node assignment : model.nodes(Kind::kAssignment)) {
      const Node target = assignment.child(Field::kLeft);
      const bool of_body = target.is(Kind::kIdentifier) && is_move(target.text()) &&
                           model.scopes().scope_node(target).is(Kind::kClass);
      any |= of_body ||
             (target.is(Kind::kAttribute) && is_move(target.child(Field::kAttributeName).text()));
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
