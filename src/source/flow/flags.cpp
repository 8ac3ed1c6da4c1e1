#include "source/flow/flags.h"

#include <algorithm>
#include <unordered_map>

#include "source/flow/sources.h"
#include "source/semantics/guards.h"

namespace torchport::flow {

namespace {

using semantics::Binding;
using semantics::BindingKind;
using semantics::SemanticModel;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

bool means_cuda(const SemanticModel& model, Node value) {
  const semantics::CudaKnowledge known = semantics::implied_by(model, value, true);
  return known.present && known.by_default == nullptr;
}

// Collects what may be flags of other files around a place.
class FlagsAround {
 public:
  explicit FlagsAround(const SemanticModel& model) : model_(model) {}

  std::vector<std::string> at(Node place) {
    for (Node node = place; node && node.parent(); node = node.parent()) {
      add_parent(node.parent(), node);
      if (node.parent().is_any(Kind::kBlock, Kind::kModule)) add_earlier(node);
    }
    return std::move(names_);
  }

 private:
  void add_parent(Node parent, Node from) {
    const bool branch =
        (parent.is_any(Kind::kIf, Kind::kElif) && from.field() == Field::kConsequence) ||
        (parent.is(Kind::kWhile) && from.field() == Field::kBody);
    if (branch) return add(parent.child(Field::kCondition), true);
    if (parent.is(Kind::kConditional)) {
      const auto parts = parent.children();
      if (parts.size() == 3 && from != parts[1]) add(parts[1], from == parts[0]);
    } else if (parent.is(Kind::kBooleanOperator) && from.field() == Field::kRight) {
      add(parent.child(Field::kLeft), parent.child(Field::kOperator).text() == "and");
    }
  }

  // `if not HAS_CUDA: return` before the statement.
  void add_earlier(Node statement) {
    for (const Node earlier : model_.early_exits(statement.parent())) {
      if (earlier.start() >= statement.start()) break;
      if (!earlier.is(Kind::kIf)) continue;
      Node last;
      for (Node inner = earlier.child(Field::kConsequence).first_child(); inner;
           inner = inner.next_sibling())
        last = inner;
      if (last.is_any(Kind::kReturn, Kind::kContinue, Kind::kBreak))
        add(earlier.child(Field::kCondition), false);
    }
  }

  // Adds the flags that are on if the condition has this value.
  void add(Node condition, bool truth, int depth = 0) {
    constexpr int kMostParts = 8;
    condition = syntax::unwrap(condition);
    if (depth > kMostParts) return;
    if (condition.is(Kind::kNotOperator))
      return add(condition.child(Field::kArgument), !truth, depth + 1);
    if (condition.is(Kind::kBooleanOperator)) {
      if ((condition.child(Field::kOperator).text() == "and") != truth) return;
      add(condition.child(Field::kLeft), truth, depth + 1);
      return add(condition.child(Field::kRight), truth, depth + 1);
    }
    if (truth && condition.is_any(Kind::kIdentifier, Kind::kAttribute)) add_name(condition);
  }

  void add_name(Node name) {
    const std::string& imported = model_.qualified(name);
    if (!imported.empty()) {
      if (!imported.starts_with("torch.")) names_.push_back("@" + imported);
      return;
    }
    const semantics::ClassFacts* facts = model_.enclosing_class(name);
    const std::string_view attribute = name.child(Field::kAttributeName).text();
    if (facts == nullptr || attribute.empty() || facts->attributes.contains(attribute) ||
        name.child(Field::kObject).text() != model_.self_name(name))
      return;
    names_.push_back("=" + std::string(facts->name) + "." + std::string(attribute));
  }

  const SemanticModel& model_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> cuda_flags(const SemanticModel& model) {
  std::vector<std::string> flags;
  for (const Binding* binding : model.scopes().of_scope(model.tree().root())) {
    if (binding->kind == BindingKind::kAssign && !binding->unpacked &&
        model.scopes().module_level(binding->name).size() == 1 && means_cuda(model, binding->value))
      flags.emplace_back(binding->name);
  }
  for (const Node node : model.nodes(Kind::kClass)) {
    const semantics::ClassFacts* facts = model.class_facts(node);
    if (facts == nullptr) continue;
    for (const auto& [name, values] : facts->attributes) {
      const bool all = std::all_of(values.begin(), values.end(), [&](const auto& attribute) {
        return means_cuda(model, attribute.value);
      });
      if (all) flags.push_back(std::string(facts->name) + "." + std::string(name));
    }
  }
  std::sort(flags.begin(), flags.end());
  return flags;
}

namespace {

// The calls that are statements, by their blocks and in order. Every finding asks for them.
struct CallStatements {
  explicit CallStatements(const SemanticModel& model) {
    for (const Node call : model.nodes(Kind::kCall)) {
      const Node parent = call.parent();
      const bool assigned = parent.is(Kind::kAssignment) && call.field() == Field::kRight;
      if (assigned || parent.is(Kind::kExpressionStatement))
        of_block[syntax::statement_of(call).parent().index()].push_back(call);
    }
  }
  std::unordered_map<std::uint32_t, std::vector<Node>> of_block;
};

// The functions of the project that have certainly been called before a place, the last ones first.
std::vector<Callee> called_before(const SemanticModel& model, Node at) {
  constexpr std::size_t kMost = 12;
  const auto& statements = model.facts<CallStatements>().of_block;
  std::vector<Callee> callees;
  std::size_t looks = 0;
  for (Node node = at; node && !node.is_any(Kind::kFunction, Kind::kClass); node = node.parent()) {
    const auto block = statements.find(node.parent().index());
    if (block == statements.end()) continue;
    auto call =
        std::lower_bound(block->second.begin(), block->second.end(), node.start(),
                         [](Node other, std::uint32_t start) { return other.start() < start; });
    while (call != block->second.begin() && looks < kMost) {
      ++looks;
      Callee callee = callee_of(model, *--call);
      if (!callee.empty() && callee.front() != '.') callees.push_back(std::move(callee));
    }
  }
  return callees;
}

}  // namespace

std::vector<Condition> conditions_at(const SemanticModel& model, Node at) {
  std::vector<Condition> conditions;
  for (std::string& name : FlagsAround(model).at(at))
    conditions.push_back({Condition::Kind::kFlagOfCuda, std::move(name), {}});
  if (std::vector<Callee> callees = called_before(model, at); !callees.empty())
    conditions.push_back({Condition::Kind::kRefused, {}, std::move(callees)});
  const semantics::CudaKnowledge known = semantics::knowledge_at(model, at);
  if (known.present && known.by_default != nullptr) {
    const Node function = syntax::function_of(known.by_default->target);
    conditions.push_back(
        {Condition::Kind::kGiven, name_of(function), {std::string(known.by_default->name)}});
  }
  return conditions;
}

}  // namespace torchport::flow
