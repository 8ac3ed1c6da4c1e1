#include "source/rules/behind_demand.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

constexpr int kMostCallers = 4;  // how many callers in a row are followed

// A statement that ends the program before it comes to a place without CUDA.
struct Demand {
  Node statement;
  bool of_all_calls = true;  // otherwise some calls come to the place on another way
};

Demand demand_before(const PythonContext& context, Node place, int depth);

// Whether an identifier is what a name of the module means: no attribute of an object, as in
// `model.train()`, and no keyword.
bool is_plain_name(Node use) {
  return use.field() != Field::kAttributeName &&
         !(use.parent().is(Kind::kKeywordArgument) && use.field() == Field::kName);
}

// The demand of the first call of a function that comes after one. It is before all of them if the
// file shows all uses of the function, and each comes after one.
Demand demand_before_calls(const PythonContext& context, Node function, int depth) {
  const SemanticModel& model = context.model;
  const Node name = function.child(Field::kName);
  const std::string_view text = name.text();
  if (depth >= kMostCallers || !function.parent().is(Kind::kModule) || !name) return {};
  Demand found;
  found.of_all_calls =
      context.project == nullptr || !context.project->is_used_elsewhere(context.path, text);
  for (const Node use : model.named(text)) {
    if (use == name || !is_plain_name(use)) continue;
    const bool is_call = use.field() == Field::kFunctionPart && use.parent().is(Kind::kCall);
    const Demand demand = is_call ? demand_before(context, use, depth + 1) : Demand{};
    found.of_all_calls &= demand.statement && demand.of_all_calls;
    if (!found.statement) found.statement = demand.statement;
  }
  return found;
}

// A demand of the file itself: no function of it runs before that.
Node demand_of_file(const SemanticModel& model) {
  const auto& exits = model.early_exits(model.tree().root());
  const auto demand = std::find_if(exits.begin(), exits.end(), [&](Node exit) {
    return semantics::is_cuda_demand(model, exit);
  });
  return demand == exits.end() ? Node{} : *demand;
}

// The demand of a method that the class calls wherever a flag is set: `if self.use_ddp:
// self.setup_ddp()` before another `if self.use_ddp:`.
Node demand_of_flag(const SemanticModel& model, Node branch) {
  const semantics::ClassFacts* facts = model.enclosing_class(branch);
  const Node flag = branch.child(Field::kCondition);
  if (facts == nullptr || !flag.is(Kind::kAttribute)) return {};
  for (const Node other : model.nodes(Kind::kIf, facts->node)) {
    if (other == branch || other.child(Field::kCondition).text() != flag.text()) continue;
    for (Node statement = other.child(Field::kConsequence).first_child(); statement;
         statement = statement.next_sibling()) {
      const Node callee = syntax::callee(statement.first_child());
      if (!callee.is(Kind::kAttribute) ||
          callee.child(Field::kObject).text() != model.self_name(statement))
        continue;
      const auto method = facts->methods.find(callee.child(Field::kAttributeName).text());
      if (method == facts->methods.end()) continue;
      for (const Node exit : model.early_exits(method->second.child(Field::kBody)))
        if (semantics::is_cuda_demand(model, exit)) return exit;
    }
  }
  return {};
}

Demand demand_before(const PythonContext& context, Node place, int depth) {
  const SemanticModel& model = context.model;
  for (Node up = place; up; up = up.parent()) {
    const Node around = up.parent();
    if (around.is_any(Kind::kBlock, Kind::kModule)) {
      for (const Node exit : model.early_exits(around)) {
        if (exit.start() >= up.start()) break;
        if (semantics::is_cuda_demand(model, exit)) return {exit};
      }
    }
    if (around.is(Kind::kIf) && up.field() == Field::kConsequence)
      if (const Node demand = demand_of_flag(model, around)) return {demand};
    if (!up.is(Kind::kFunction) || place.start() < up.child(Field::kBody).start()) continue;
    const Node demand = demand_of_file(model);
    return demand ? Demand{demand} : demand_before_calls(context, up, depth);
  }
  return {};
}

}  // namespace

void name_demands(const PythonContext& context, std::vector<Finding>& findings) {
  const syntax::Tree& tree = context.model.tree();
  for (Finding& finding : findings) {
    const Node place = syntax::node_at(tree, finding.span.start);
    const Demand demand = demand_before(context, place, 0);
    if (!demand.statement || semantics::is_cuda_demand(context.model, syntax::statement_of(place)))
      continue;
    if (finding.rule->void_with_cuda && demand.of_all_calls)
      finding.message += fmt::format(" Line {} ends the program before that: change both.",
                                     tree.lines().at(demand.statement.start()).line);
    for (Fix& fix : finding.fix)
      fix.applicability = std::max(fix.applicability, Applicability::kUnsafe);
  }
}

}  // namespace torchport::rules
