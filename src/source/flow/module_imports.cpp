#include "source/flow/module_imports.h"

#include "source/semantics/imports.h"

namespace torchport::flow {

namespace {

using syntax::Kind;
using syntax::Node;

bool is_of_torch(std::string_view qualified) {
  return qualified.starts_with("torch.");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> module_imports(const syntax::Tree& tree) {
  std::vector<std::pair<std::string, std::string>> imports;
  for (std::uint32_t i = 0; i < tree.size();) {
    const Node node = tree.at(i);
    const bool imports_names = node.is_any(Kind::kImport, Kind::kImportFrom);
    const bool leaf = imports_names || node.is_any(Kind::kFunction, Kind::kClass);
    i = leaf ? node.subtree_end() : i + 1;
    if (!imports_names) continue;
    for (semantics::ImportedName& name : semantics::imported_names(node)) {
      if (is_of_torch(name.qualified)) continue;
      if (name.target)
        imports.emplace_back(name.target.text(), std::move(name.qualified));
      else
        imports.emplace_back("*", name.qualified + ".*");
    }
    // `import flash_attn_3._C` binds only `flash_attn_3`.
    for (Node module = node.first_child(); module; module = module.next_sibling()) {
      if (!node.is(Kind::kImport) || !module.is(Kind::kDottedName)) continue;
      const std::string name = semantics::dotted_name(module);
      if (name.find('.') != std::string::npos && !is_of_torch(name))
        imports.emplace_back(name, name);
    }
  }
  return imports;
}

}  // namespace torchport::flow
