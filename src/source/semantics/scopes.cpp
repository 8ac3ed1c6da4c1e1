#include "source/semantics/scopes.h"

#include <algorithm>

#include "source/semantics/imports.h"

namespace torchport::semantics {

namespace {

bool makes_scope(Node node) {
  return node.is_any(Kind::kModule, Kind::kFunction, Kind::kClass, Kind::kLambda,
                     Kind::kListComprehension, Kind::kSetComprehension,
                     Kind::kDictionaryComprehension, Kind::kGenerator);
}

}  // namespace

Scopes::Scopes(const Tree& tree) : tree_(tree) {
  find_scopes();
  for (std::uint32_t i = 0; i < tree.size(); ++i) visit(tree.at(i));
}

// Parents come before their children, so each scope follows from that of the parent.
void Scopes::find_scopes() {
  scope_of_.resize(tree_.size(), 0);
  for (std::uint32_t i = 1; i < tree_.size(); ++i) {
    const Node node = tree_.at(i);
    const Node up = node.parent();
    // The name, decorators and bases of a function or class belong to the scope outside.
    const bool outside = up.is_any(Kind::kFunction, Kind::kClass) && node.field() != Field::kBody &&
                         node.field() != Field::kParametersPart;
    scope_of_[i] = makes_scope(up) && !outside ? up.index() : scope_of_[up.index()];
  }
}

Node Scopes::scope_node(Node at) const {
  return at ? tree_.at(scope_of_[at.index()]) : tree_.root();
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
  for (ImportedName& name : imported_names(statement)) {
    if (!name.target) {
      wildcards_.push_back(std::move(name.qualified));
      continue;
    }
    bind(scope_node(statement), {name.target.text(),
                                 BindingKind::kImport,
                                 name.target,
                                 statement,
                                 {},
                                 std::move(name.qualified),
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
    case Kind::kImportFrom:
      bind_import(node);
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

const std::vector<const Binding*>& Scopes::all(std::string_view name, Node at) const {
  static const List kNone;
  const Node scope = owner(name, at);
  const List* list = scope ? find(scope, name) : nullptr;
  return list == nullptr ? kNone : *list;
}

namespace {

// Only generated code binds a name more often. Returning all bindings at every read would take
// quadratic time.
constexpr std::size_t kMostReaching = 256;

Bindings first_of(const std::vector<const Binding*>& all) {
  return {all.data(), all.data() + std::min(all.size(), kMostReaching)};
}

}  // namespace

Bindings Scopes::reaching(std::string_view name, Node at) const {
  const Node scope = owner(name, at);
  const List* list = scope ? find(scope, name) : nullptr;
  if (list == nullptr) return {};
  if (list->size() < 2 || scope_node(at) != scope) return first_of(*list);
  Bindings result;
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
