#include "source/edit/torch_import.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "source/semantics/guards.h"

namespace torchport::edit {

namespace {

using semantics::Binding;
using semantics::BindingKind;
using semantics::SemanticModel;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

// Whether a statement of the module's own scope runs whenever the module is imported.
bool always_runs(const SemanticModel& model, Node statement) {
  for (Node up = statement.parent(); up; up = up.parent()) {
    if (up.is_any(Kind::kModule, Kind::kBlock, Kind::kWith, Kind::kFinally)) continue;
    if (!up.is(Kind::kTry) || !semantics::handlers_leave(model, up)) return false;
  }
  return true;
}

// The `if` whose branch runs only for a type checker, or only if the file is the program.
Node special_branch(Node statement) {
  for (Node up = statement.parent(); up; up = up.parent()) {
    if (!up.is(Kind::kIf)) continue;
    const std::string_view condition = up.child(Field::kCondition).text();
    if (condition.find("TYPE_CHECKING") != std::string_view::npos ||
        condition.find("__name__") != std::string_view::npos)
      return up;
  }
  return {};
}

bool imports_part_of_torch(Node statement) {
  if (statement.is(Kind::kImportFrom)) {
    const std::string_view module = statement.child(Field::kModuleName).text();
    return module == "torch" || module.starts_with("torch.");
  }
  if (!statement.is(Kind::kImport)) return false;
  for (Node name = statement.first_child(); name; name = name.next_sibling()) {
    const Node module = name.is(Kind::kAliasedImport) ? name.child(Field::kName) : name;
    if (module.text() == "torch" || module.text().starts_with("torch.")) return true;
  }
  return false;
}

// The names of torch itself, by the imports that bind them.
class TorchNames {
 public:
  explicit TorchNames(const SemanticModel& model) : model_(model) {}

  // The first name that an import binds to torch; null if there is none.
  const Binding* of(Node import) {
    const Node scope = model_.scopes().scope_node(import);
    if (scopes_.insert(scope.index()).second) {
      for (const Binding* binding : model_.scopes().of_scope(scope))
        if (binding->value && binding->qualified == "torch")
          names_.try_emplace(binding->value.index(), binding);
    }
    const auto found = names_.find(import.index());
    return found == names_.end() ? nullptr : found->second;
  }

 private:
  const SemanticModel& model_;
  std::unordered_set<std::uint32_t> scopes_;  // those that were read
  std::unordered_map<std::uint32_t, const Binding*> names_;
};

}  // namespace

TorchImport::TorchImport(const SemanticModel& model) {
  std::string elsewhere;
  TorchNames names(model);
  const Node root = model.tree().root();
  for (const Kind kind : {Kind::kImport, Kind::kImportFrom}) {
    for (const Node node : model.nodes(kind)) {
      if (!imports_part_of_torch(node)) continue;
      const bool always = model.scopes().scope_node(node) == root && always_runs(model, node);
      delayed |= !always;
      if (always && (!first_of_torch || node.start() < first_of_torch.start()))
        first_of_torch = node;
      const Binding* binding = names.of(node);
      if (binding == nullptr) continue;
      if (!always && elsewhere.empty()) elsewhere = std::string(binding->name);
      if (!always || statement) continue;
      statement = node;
      name = std::string(binding->name);
    }
  }
  // A module that imports a part of torch has to wait for all of it.
  if (first_of_torch) delayed = false;
  if (delayed && !elsewhere.empty()) name = elsewhere;
}

bool is_torch_bound(const SemanticModel& model, std::string_view name, Node at) {
  const auto seen = model.scopes().reaching(name, at);
  return std::any_of(seen.begin(), seen.end(), [&](const Binding* binding) {
    if (binding->kind != BindingKind::kImport || binding->qualified != "torch") return false;
    const Node branch = special_branch(binding->target);
    return !branch || branch.holds(at);
  });
}

}  // namespace torchport::edit
