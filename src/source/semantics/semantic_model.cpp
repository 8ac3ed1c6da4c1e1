#include "source/semantics/semantic_model.h"

#include <algorithm>

#include "source/semantics/star_imports.h"

namespace torchport::semantics {

namespace {

constexpr int kMaxChain = 12;  // the answer for longer chains is "unknown"

}  // namespace

SemanticModel::SemanticModel(std::shared_ptr<const Tree> tree)
    : tree_(std::move(tree)),
      scopes_(*tree_),
      qualified_(tree_->size()),
      whole_values_(tree_->size()),
      index_(*tree_) {
  for (std::uint32_t i = 0; i < tree_->size(); ++i) {
    const Node node = tree_->at(i);
    if (node.is(Kind::kImport)) {
      for (Node name = node.first_child(); name; name = name.next_sibling()) {
        const Node path = name.is(Kind::kAliasedImport) ? name.child(Field::kName) : name;
        imported_.emplace_back(path.text());
      }
    } else if (node.is(Kind::kImportFrom)) {
      imported_.emplace_back(node.child(Field::kModuleName).text());
    }
  }
  imports_torch_ = imports("torch");
  collect_classes();
}

bool SemanticModel::imports(std::string_view module) const {
  return std::any_of(imported_.begin(), imported_.end(), [&](const std::string& name) {
    return name.starts_with(module) && (name.size() == module.size() || name[module.size()] == '.');
  });
}

const std::string& SemanticModel::qualified(Node expression) const {
  static const std::string kNone;
  if (!expression) return kNone;
  if (const std::string* const known = qualified_.find(expression.index())) return *known;
  return qualified_.put(expression.index(), resolve(expression, 0));
}

const std::string& SemanticModel::called(Node call) const {
  return qualified(syntax::callee(call));
}

std::string SemanticModel::resolve(Node expression, int depth) const {
  expression = syntax::unwrap(expression);
  if (depth > kMaxChain) return {};
  if (expression.is(Kind::kAttribute)) {
    std::string object = resolve(expression.child(Field::kObject), depth + 1);
    if (object.empty()) return {};
    return object + "." + std::string(expression.child(Field::kAttributeName).text());
  }
  if (expression.is(Kind::kCall)) {  // getattr(torch, "cuda")
    std::string name;
    if (syntax::callee(expression).text() != "getattr" || syntax::positional(expression, 2) ||
        !syntax::string_value(syntax::positional(expression, 1), name))
      return {};
    std::string object = resolve(syntax::positional(expression, 0), depth + 1);
    return object.empty() ? object : object + "." + name;
  }
  if (!expression.is(Kind::kIdentifier)) return {};
  const auto bindings = scopes_.reaching(expression.text(), expression);
  for (const Binding* binding : bindings) {
    if (binding->kind == BindingKind::kImport) return binding->qualified;
  }
  if (bindings.size() == 1 && bindings.front()->kind == BindingKind::kAssign &&
      !bindings.front()->unpacked &&
      bindings.front()->value.is_any(Kind::kAttribute, Kind::kIdentifier, Kind::kCall)) {
    return resolve(bindings.front()->value, depth + 1);
  }
  return bindings.empty() ? name_by_star(scopes_.wildcards(), expression.text()) : std::string{};
}

bool SemanticModel::is_method_call(Node call, std::string_view name) const {
  const Node function = syntax::callee(call);
  return function.is(Kind::kAttribute) && function.child(Field::kAttributeName).text() == name &&
         qualified(function.child(Field::kObject)).empty();
}

std::string_view SemanticModel::self_name(Node node) const {
  for (Node function = syntax::function_of(node); function;
       function = syntax::function_of(function)) {
    const Node holder = syntax::statement_of(function).parent().parent();
    if (!function.is(Kind::kFunction) || !holder.is(Kind::kClass)) continue;
    const Node first = function.child(Field::kParametersPart).first_child();
    return first.is(Kind::kIdentifier)       ? first.text()
           : first.is(Kind::kTypedParameter) ? first.first_child().text()
                                             : std::string_view{};
  }
  return {};
}

void SemanticModel::collect_classes() {
  for (std::uint32_t i = 0; i < tree_->size(); ++i) {
    const Node node = tree_->at(i);
    if (!node.is(Kind::kClass)) continue;
    ClassFacts facts;
    facts.node = node;
    facts.name = node.child(Field::kName).text();
    for (const syntax::Argument& base : syntax::arguments(node.child(Field::kSuperclasses))) {
      if (!base.keyword.empty()) continue;
      std::string name = qualified(base.value);
      facts.bases.push_back(name.empty() ? std::string(base.value.text()) : std::move(name));
    }
    for (Node statement = node.child(Field::kBody).first_child(); statement;
         statement = statement.next_sibling()) {
      const Node function =
          statement.is(Kind::kDecorated) ? statement.child(Field::kDefinition) : statement;
      if (function.is(Kind::kFunction))
        facts.methods[function.child(Field::kName).text()] = function;
    }
    facts.has_forward = facts.methods.contains("forward");
    class_by_node_[node.index()] = classes_.size();
    class_by_name_.try_emplace(facts.name, classes_.size());
    classes_.push_back(std::move(facts));
  }
  // Collects self.NAME = value. Nested classes collect their own.
  for (std::uint32_t i = 0; i < tree_->size() && !classes_.empty(); ++i) {
    const Node node = tree_->at(i);
    if (!node.is(Kind::kAssignment)) continue;
    const Node target = node.child(Field::kLeft);
    if (!target.is(Kind::kAttribute)) continue;
    const Node object = target.child(Field::kObject);
    if (!object.is(Kind::kIdentifier) || object.text() != self_name(node)) continue;
    const auto owner = class_by_node_.find(syntax::class_of(node).index());
    if (owner == class_by_node_.end()) continue;
    Node value = node.child(Field::kRight);
    while (value.is(Kind::kAssignment)) value = value.child(Field::kRight);
    classes_[owner->second].attributes[target.child(Field::kAttributeName).text()].push_back(
        {target, value, syntax::function_of(node)});
  }
  // A class is a module if a base is one. Classes of the file may come in any order.
  for (bool changed = true; changed;) {
    changed = false;
    for (ClassFacts& facts : classes_) {
      if (facts.is_module) continue;
      facts.is_module =
          std::any_of(facts.bases.begin(), facts.bases.end(), [&](const std::string& base) {
            if (is_module_base(base)) return true;
            const ClassFacts* local = class_named(base);
            if (local != nullptr && local != &facts) return local->is_module;
            const std::string_view last = std::string_view(base).substr(base.rfind('.') + 1);
            // For a base from another file, its name and a forward method decide.
            return facts.has_forward && !base.empty() &&
                   (last.ends_with("Module") || last.ends_with("Model") || last.ends_with("Net") ||
                    last.ends_with("Base"));
          });
      changed |= facts.is_module;
    }
  }
}

const ClassFacts* SemanticModel::class_facts(Node class_node) const {
  const auto found = class_by_node_.find(class_node.index());
  return !class_node || found == class_by_node_.end() ? nullptr : &classes_[found->second];
}

const ClassFacts* SemanticModel::enclosing_class(Node node) const {
  return class_facts(syntax::class_of(node));
}

const ClassFacts* SemanticModel::class_named(std::string_view name) const {
  const auto found = class_by_name_.find(name);
  return found == class_by_name_.end() ? nullptr : &classes_[found->second];
}

Node SemanticModel::function_named(std::string_view name, Node at) const {
  for (const Binding* binding : scopes_.reaching(name, at)) {
    if (binding->kind == BindingKind::kFunction) return binding->value;
  }
  return {};
}

std::vector<Node> SemanticModel::calls_of(std::string_view name, Node range) const {
  std::vector<Node> calls;
  for (const Node last : named(name, range ? range : tree_->root())) {
    const Node callee = last.field() == Field::kAttributeName ? last.parent() : last;
    if (callee.field() == Field::kFunctionPart && callee.parent().is(Kind::kCall))
      calls.push_back(callee.parent());
  }
  return calls;
}

Value SemanticModel::value(Node expression) const {
  return infer(expression, 0);
}

std::optional<std::string> SemanticModel::constant_string(Node expression) const {
  std::string text;
  if (syntax::string_value(expression, text)) return text;
  const Value known = value(expression);
  if (known.is(Type::kString) && !known.text.empty()) return known.text;
  return std::nullopt;
}

}  // namespace torchport::semantics
