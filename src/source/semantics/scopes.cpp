#include "source/semantics/scopes.h"

#include <algorithm>

namespace torchport::semantics {

namespace {

bool makes_scope(Node node) {
  return node.is_any(Kind::kModule, Kind::kFunction, Kind::kClass, Kind::kLambda,
                     Kind::kListComprehension, Kind::kSetComprehension,
                     Kind::kDictionaryComprehension, Kind::kGenerator);
}

// The text "a . b" may contain spaces or comments, which a dotted name does not.
std::string dotted(Node name) {
  std::string result;
  for (Node part = name.first_child(); part; part = part.next_sibling()) {
    if (!result.empty()) result += '.';
    result += part.text();
  }
  return result.empty() ? std::string(name.text()) : result;
}

std::string module_text(Node module) {
  if (!module.is(Kind::kRelativeImport)) return dotted(module);
  std::string result;
  for (Node part = module.first_child(); part; part = part.next_sibling()) {
    if (part.is(Kind::kImportPrefix)) {
      result += part.text();
    } else {
      result += dotted(part);
    }
  }
  return result;
}

}  // namespace

Scopes::Scopes(const Tree& tree) : tree_(tree) {
  for (std::uint32_t i = 0; i < tree.size(); ++i) visit(tree.at(i));
}

Node Scopes::scope_node(Node at) const {
  for (Node node = at; node; node = node.parent()) {
    const Node up = node.parent();
    if (!up) return node;
    if (!makes_scope(up)) continue;
    // The name, decorators and bases of a function or class belong to the scope outside.
    if (up.is_any(Kind::kFunction, Kind::kClass) && node.field() != Field::kBody &&
        node.field() != Field::kParametersPart) {
      return scope_node(up);
    }
    return up;
  }
  return tree_.root();
}

void Scopes::bind(Node scope, Binding binding) {
  const Binding& kept = bindings_.emplace_back(std::move(binding));
  Scope& names = scopes_[scope.index()];
  names.in_order.push_back(&kept);
  names.by_name[kept.name].push_back(&kept);
}

void Scopes::bind_target(Node target, Node value, BindingKind kind, bool unpacked) {
  std::vector<std::pair<Node, Node>> work{{target, value}};
  bool many = unpacked;
  while (!work.empty()) {
    auto [left, right] = work.back();
    work.pop_back();
    left = syntax::unwrap(left);
    if (left.is(Kind::kIdentifier)) {
      bind(scope_node(left), {left.text(), kind, left, right, {}, {}, many});
    } else if (left.is_any(Kind::kPatternList, Kind::kTuplePattern, Kind::kListPattern,
                           Kind::kExpressionList, Kind::kTuple, Kind::kList)) {
      const auto parts = left.children();
      const auto values = right.is_any(Kind::kExpressionList, Kind::kTuple, Kind::kList)
                              ? right.children()
                              : std::vector<Node>{};
      // In a, b = 1, 2 each target has its own value; in a, b = f() it does not.
      const bool pairs = kind == BindingKind::kAssign && values.size() == parts.size();
      if (!pairs) many = true;
      for (std::size_t i = 0; i < parts.size(); ++i)
        work.emplace_back(parts[i], pairs ? values[i] : right);
    } else if (left.is_any(Kind::kListSplatPattern, Kind::kListSplat, Kind::kAsPatternTarget)) {
      work.emplace_back(left.first_child(), right);
    }
  }
}

void Scopes::bind_import(Node statement) {
  for (Node name = statement.first_child(); name; name = name.next_sibling()) {
    Binding binding;
    binding.kind = BindingKind::kImport;
    binding.value = statement;
    if (name.is(Kind::kAliasedImport)) {
      binding.target = name.child(Field::kAlias);
      binding.qualified = dotted(name.child(Field::kName));
      binding.name = binding.target.text();
    } else if (name.is(Kind::kDottedName)) {
      // `import torch.cuda` binds `torch`.
      binding.target = name.first_child();
      binding.name = binding.target.text();
      binding.qualified = std::string(binding.name);
    } else {
      continue;
    }
    bind(scope_node(statement), std::move(binding));
  }
}

void Scopes::bind_import_from(Node statement) {
  const std::string module = module_text(statement.child(Field::kModuleName));
  for (Node name = statement.first_child(); name; name = name.next_sibling()) {
    if (name.is(Kind::kWildcardImport)) wildcards_.push_back(module);
    if (name.field() != Field::kName) continue;
    const bool aliased = name.is(Kind::kAliasedImport);
    const Node original = aliased ? name.child(Field::kName) : name;
    const Node target = aliased ? name.child(Field::kAlias) : name;
    const std::string separator = module.ends_with('.') ? "" : ".";
    bind(scope_node(statement), {target.text(),
                                 BindingKind::kImport,
                                 target,
                                 statement,
                                 {},
                                 module + separator + dotted(original),
                                 false});
  }
}

void Scopes::bind_parameters(Node parameters) {
  for (Node parameter = parameters.first_child(); parameter; parameter = parameter.next_sibling()) {
    Node target = parameter;
    if (parameter.is_any(Kind::kDefaultParameter, Kind::kTypedDefaultParameter)) {
      target = parameter.child(Field::kName);
    } else if (parameter.is_any(Kind::kTypedParameter, Kind::kListSplatPattern,
                                Kind::kDictionarySplatPattern)) {
      target = parameter.first_child();
      if (target.is_any(Kind::kListSplatPattern, Kind::kDictionarySplatPattern))
        target = target.first_child();
    }
    if (!target.is(Kind::kIdentifier)) continue;
    const bool star = parameter.is_any(Kind::kListSplatPattern, Kind::kDictionarySplatPattern);
    bind(parameters.parent(), {target.text(),
                               BindingKind::kParameter,
                               target,
                               parameter.child(Field::kValue),
                               parameter.child(Field::kFieldType),
                               {},
                               star});
  }
}

void Scopes::visit(Node node) {
  switch (node.kind()) {
    case Kind::kImport:
      bind_import(node);
      break;
    case Kind::kImportFrom:
      bind_import_from(node);
      break;
    case Kind::kAssignment: {
      // In a = b = 1 the right side of the outer assignment is the inner assignment.
      Node value = node.child(Field::kRight);
      while (value.is(Kind::kAssignment)) value = value.child(Field::kRight);
      const Node left = node.child(Field::kLeft);
      if (left.is(Kind::kIdentifier)) {
        bind(scope_node(left), {left.text(),
                                BindingKind::kAssign,
                                left,
                                value,
                                node.child(Field::kFieldType),
                                {},
                                false});
      } else {
        bind_target(left, value, BindingKind::kAssign, false);
      }
      break;
    }
    case Kind::kNamedExpression:
      bind_target(node.child(Field::kName), node.child(Field::kValue), BindingKind::kAssign, false);
      break;
    case Kind::kAugmentedAssignment:
      bind_target(node.child(Field::kLeft), node.child(Field::kRight), BindingKind::kAugmented,
                  false);
      break;
    case Kind::kFor:
    case Kind::kForIn:
      bind_target(node.child(Field::kLeft), node.child(Field::kRight), BindingKind::kFor, false);
      break;
    case Kind::kAsPattern: {
      const bool is_with = node.parent().is(Kind::kWithItem);
      bind_target(node.child(Field::kAlias), node.first_child(),
                  is_with ? BindingKind::kWith : BindingKind::kExcept, false);
      break;
    }
    case Kind::kFunction:
    case Kind::kClass: {
      const Node name = node.child(Field::kName);
      bind(scope_node(node), {name.text(),
                              node.is(Kind::kClass) ? BindingKind::kClass : BindingKind::kFunction,
                              name,
                              node,
                              {},
                              {},
                              false});
      break;
    }
    case Kind::kParameters:
    case Kind::kLambdaParameters:
      bind_parameters(node);
      break;
    case Kind::kGlobal:
    case Kind::kNonlocal:
      for (Node name = node.first_child(); name && node.is(Kind::kGlobal);
           name = name.next_sibling()) {
        globals_[scope_node(node).index()].push_back(name.text());
      }
      break;
    default:
      break;
  }
}

const Scopes::List* Scopes::find(Node scope, std::string_view name) const {
  const auto names = scopes_.find(scope.index());
  if (names == scopes_.end()) return nullptr;
  const auto found = names->second.by_name.find(name);
  return found == names->second.by_name.end() ? nullptr : &found->second;
}

Node Scopes::owner(std::string_view name, Node at) const {
  bool first = true;
  for (Node scope = scope_node(at);; scope = scope_node(scope)) {
    if (const auto declared = globals_.find(scope.index());
        declared != globals_.end() && std::find(declared->second.begin(), declared->second.end(),
                                                name) != declared->second.end()) {
      return tree_.root();
    }
    if ((first || !scope.is(Kind::kClass)) && find(scope, name) != nullptr) return scope;
    first = false;
    if (scope.is(Kind::kModule) || !scope.parent()) return {};
  }
}

std::vector<const Binding*> Scopes::all(std::string_view name, Node at) const {
  const Node scope = owner(name, at);
  const List* list = scope ? find(scope, name) : nullptr;
  return list == nullptr ? List{} : *list;
}

namespace {

// Only generated code binds a name more often. Returning all bindings at every read would take
// quadratic time.
constexpr std::size_t kMostReaching = 256;

std::vector<const Binding*> first_of(const std::vector<const Binding*>& all) {
  return {all.begin(),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kMostReaching))};
}

}  // namespace

std::vector<const Binding*> Scopes::reaching(std::string_view name, Node at) const {
  const Node scope = owner(name, at);
  const List* list = scope ? find(scope, name) : nullptr;
  if (list == nullptr) return {};
  if (list->size() < 2 || scope_node(at) != scope) return first_of(*list);
  List result;
  // Goes backwards from the last binding before `at`: in a long file most bindings are never
  // visited.
  auto later = std::upper_bound(list->begin(), list->end(), at.start(),
                                [](std::uint32_t offset, const Binding* binding) {
                                  return offset <= binding->target.start();
                                });
  while (later != list->begin()) {
    const Binding& binding = **--later;
    // `x = x.cuda()`: the x on the right is the earlier one.
    if (binding.target.start() >= at.start()) continue;
    if (binding.kind == BindingKind::kAssign && binding.value.holds(at)) continue;
    result.push_back(&binding);
    const Node block = syntax::statement_of(binding.target).parent();
    if (!block || block.holds(at) || binding.kind == BindingKind::kParameter) break;
    if (result.size() == kMostReaching) break;
  }
  return result.empty() ? first_of(*list) : result;
}

const std::vector<const Binding*>& Scopes::in_scope(Node scope, std::string_view name) const {
  static const List kNone;
  const List* list = find(scope, name);
  return list == nullptr ? kNone : *list;
}

const std::vector<const Binding*>& Scopes::module_level(std::string_view name) const {
  return in_scope(tree_.root(), name);
}

bool Scopes::is_bound_anywhere(std::string_view name) const {
  return std::any_of(scopes_.begin(), scopes_.end(),
                     [&](const auto& scope) { return scope.second.by_name.contains(name); });
}

const std::vector<const Binding*>& Scopes::of_scope(Node scope) const {
  static const List kNone;
  const auto names = scopes_.find(scope.index());
  return names == scopes_.end() ? kNone : names->second.in_order;
}

}  // namespace torchport::semantics
