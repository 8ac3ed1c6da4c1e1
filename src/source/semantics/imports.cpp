#include "source/semantics/imports.h"

namespace torchport::semantics {

namespace {

using syntax::Field;
using syntax::Kind;
using syntax::Node;

std::string module_text(Node module) {
  if (!module.is(Kind::kRelativeImport)) return dotted_name(module);
  std::string result;
  for (Node part = module.first_child(); part; part = part.next_sibling()) {
    if (part.is(Kind::kImportPrefix)) {
      result += part.text();
    } else {
      result += dotted_name(part);
    }
  }
  return result;
}

void add_names(Node import, std::vector<ImportedName>& names) {
  for (Node name = import.first_child(); name; name = name.next_sibling()) {
    if (name.is(Kind::kAliasedImport)) {
      names.push_back({name.child(Field::kAlias), dotted_name(name.child(Field::kName))});
    } else if (name.is(Kind::kDottedName)) {
      // `import torch.cuda` binds `torch`.
      const Node target = name.first_child();
      names.push_back({target, std::string(target.text())});
    }
  }
}

void add_names_of_module(Node import, std::vector<ImportedName>& names) {
  const std::string module = module_text(import.child(Field::kModuleName));
  const std::string separator = module.ends_with('.') ? "" : ".";
  for (Node name = import.first_child(); name; name = name.next_sibling()) {
    if (name.is(Kind::kWildcardImport)) names.push_back({{}, module});
    if (name.field() != Field::kName) continue;
    const bool aliased = name.is(Kind::kAliasedImport);
    const Node original = aliased ? name.child(Field::kName) : name;
    names.push_back(
        {aliased ? name.child(Field::kAlias) : name, module + separator + dotted_name(original)});
  }
}

}  // namespace

std::string dotted_name(Node name) {
  std::string result;
  for (Node part = name.first_child(); part; part = part.next_sibling()) {
    if (!result.empty()) result += '.';
    result += part.text();
  }
  return result.empty() ? std::string(name.text()) : result;
}

std::vector<ImportedName> imported_names(Node statement) {
  std::vector<ImportedName> names;
  if (statement.is(Kind::kImport)) add_names(statement, names);
  if (statement.is(Kind::kImportFrom)) add_names_of_module(statement, names);
  return names;
}

}  // namespace torchport::semantics
