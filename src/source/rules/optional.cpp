#include "source/rules/optional.h"

#include <algorithm>

#include "source/rules/rule.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

constexpr int kMaxNames = 3;  // names followed from a condition to the environment

Node block_of(Node clause) {
  Node last;
  for (const Node part : clause.children()) {
    if (part.is(Kind::kBlock)) last = part;
  }
  return last;
}

bool takes(Node clause, std::initializer_list<std::string_view> exceptions) {
  const Node block = block_of(clause);
  const std::string head(std::string_view(clause.tree()->source())
                             .substr(clause.start(), block.start() - clause.start()));
  if (clause.first_child() == block) return true;
  for (const std::string_view wide : {"Exception", "BaseException"}) {
    if (base::contains_word(head, wide)) return true;
  }
  return std::any_of(exceptions.begin(), exceptions.end(),
                     [&](std::string_view name) { return base::contains_word(head, name); });
}

bool raises(Node block) {
  Node last;
  for (Node statement = block.first_child(); statement; statement = statement.next_sibling())
    last = statement;
  return last.is(Kind::kRaise);
}

bool is_main_test(Node condition) {
  return condition.is(Kind::kComparison) &&
         condition.text().find("__name__") != std::string_view::npos;
}

bool reads_environment(const SemanticModel& model, Node expression, int depth) {
  for (std::uint32_t i = expression.index(); expression && i < expression.subtree_end(); ++i) {
    const Node node = model.tree().at(i);
    const std::string& name = model.qualified(node);
    if (name == "os.getenv" || name.starts_with("os.environ")) return true;
    if (!node.is(Kind::kIdentifier) || depth >= kMaxNames) continue;
    for (const semantics::Binding* binding : model.scopes().reaching(node.text(), node)) {
      if (binding->kind == semantics::BindingKind::kAssign &&
          reads_environment(model, binding->value, depth + 1))
        return true;
    }
  }
  return false;
}

}  // namespace

bool is_caught(const SemanticModel& model, Node node,
               std::initializer_list<std::string_view> exceptions, bool raising_too) {
  for (Node up = node; up.parent(); up = up.parent()) {
    const Node parent = up.parent();
    if (parent.is_any(Kind::kFunction, Kind::kLambda)) return false;
    if (!parent.is(Kind::kTry) || up != parent.first_child()) continue;
    for (Node clause = up.next_sibling(); clause; clause = clause.next_sibling()) {
      if (!clause.is(Kind::kExcept) || !takes(clause, exceptions)) continue;
      if (raising_too || !raises(block_of(clause))) return true;
    }
  }
  (void)model;
  return false;
}

bool is_optional_import(const SemanticModel& model, Node import) {
  return is_caught(model, import, {"ImportError", "ModuleNotFoundError"}, true);
}

Node deciding_branch(Node node) {
  for (Node up = node; up.parent(); up = up.parent()) {
    const Node parent = up.parent();
    if (parent.is_any(Kind::kFunction, Kind::kLambda)) return {};
    const bool branch = parent.is_any(Kind::kIf, Kind::kElif) && up.field() != Field::kCondition;
    if (branch && !is_main_test(parent.child(Field::kCondition))) return parent;
    if (parent.is(Kind::kConditional) && up != parent.children()[1]) return parent;
  }
  return {};
}

bool is_asked_for(const SemanticModel& model, Node node) {
  for (Node branch = deciding_branch(node); branch; branch = deciding_branch(branch)) {
    const Node condition =
        branch.is(Kind::kConditional) ? branch.children()[1] : branch.child(Field::kCondition);
    if (reads_environment(model, condition, 0)) return true;
  }
  return false;
}

bool reads_environment(const SemanticModel& model, Node expression) {
  return reads_environment(model, expression, 0);
}

bool path_speaks_of(std::string_view path, std::string_view word) {
  std::size_t start = path.size();
  for (int folders = 0; folders < 3 && start != std::string_view::npos && start > 0; ++folders)
    start = path.rfind('/', start - 1);
  if (start != std::string_view::npos) path.remove_prefix(start);
  return base::lower(path).find(word) != std::string::npos;
}

}  // namespace torchport::rules
