#include "source/flow/file_traits.h"

#include <algorithm>

#include "base/text.h"
#include "source/flow/early_cuda.h"
#include "source/flow/saved_files.h"
#include "source/semantics/guards.h"
#include "source/semantics/own_moves.h"

namespace torchport::flow {

namespace {

using semantics::Binding;
using semantics::BindingKind;
using semantics::SemanticModel;
using syntax::Kind;
using syntax::Node;

Node block_of(Node clause) {
  Node block;
  for (Node part = clause.first_child(); part; part = part.next_sibling())
    if (part.is(Kind::kBlock)) block = part;
  return block;
}

// Whether an `except` catches a missing module, and the file goes on without it.
bool goes_on(const SemanticModel& model, Node clause) {
  const Node block = block_of(clause);
  if (!clause.is(Kind::kExcept) || !block || semantics::always_leaves(model, block)) return false;
  const std::string_view head = std::string_view(model.tree().source())
                                    .substr(clause.start(), block.start() - clause.start());
  return clause.first_child() == block || head.find("ImportError") != std::string_view::npos ||
         head.find("ModuleNotFoundError") != std::string_view::npos ||
         base::contains_word(head, "Exception");
}

// Whether the file works without what it imports here.
bool is_caught(const SemanticModel& model, Node import) {
  for (Node up = import; up.parent(); up = up.parent()) {
    if (!up.parent().is(Kind::kTry) || up != up.parent().first_child()) continue;
    for (Node clause = up.next_sibling(); clause; clause = clause.next_sibling())
      if (goes_on(model, clause)) return true;
  }
  return semantics::is_cuda_guarded(model, import);
}

std::vector<std::string> caught_imports(const SemanticModel& model) {
  std::vector<std::string> names;
  for (const Binding* binding : model.scopes().of_scope(model.tree().root()))
    if (binding->kind == BindingKind::kImport && is_caught(model, binding->value))
      names.push_back(binding->qualified);
  return names;
}

std::vector<std::string> stars(const SemanticModel& model) {
  std::vector<std::string> modules = model.scopes().wildcards();
  std::erase_if(modules, [](const std::string& module) {
    return module == "torch" || module.starts_with("torch.");
  });
  return modules;
}

bool scripts(const SemanticModel& model) {
  const auto calls = model.calls_of("script");
  return std::any_of(calls.begin(), calls.end(),
                     [&](Node call) { return model.called(call) == "torch.jit.script"; });
}

}  // namespace

FileTraits file_traits_of(const SemanticModel& model) {
  return {starts_cuda_on_import(model),
          semantics::patches_moves(model),
          scripts(model),
          caught_imports(model),
          stars(model),
          saved_files(model)};
}

}  // namespace torchport::flow
