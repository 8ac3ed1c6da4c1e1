#include "source/rules/placement/common/string_use.h"

#include <algorithm>
#include <array>

#include "source/rules/edits.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

// Calls that keep their arguments under their names: in a dict, in settings.
bool keeps_arguments(std::string_view callee) {
  static constexpr std::array<std::string_view, 8> kNames{
      "dict",       "Namespace", "SimpleNamespace", "OrderedDict",
      "setdefault", "update",    "set_defaults",    "EasyDict"};
  return base::one_of(kNames, callee);
}

bool is_string_method(std::string_view name) {
  static constexpr std::array<std::string_view, 14> kNames{
      "startswith", "endswith", "split",  "rsplit", "lower", "upper", "replace",
      "find",       "strip",    "lstrip", "rstrip", "index", "join",  "partition"};
  return base::one_of(kNames, name);
}

// Whether a comparison is one with strings.
bool compares_strings(Node comparison) {
  for (std::uint32_t i = comparison.index() + 1; i < comparison.subtree_end(); ++i)
    if (comparison.tree()->at(i).is(Kind::kString)) return true;
  return false;
}

bool is_string_read(Node read) {
  const Node parent = read.parent();
  if (parent.is(Kind::kAttribute) && read.field() == Field::kObject)
    return is_string_method(parent.child(Field::kAttributeName).text());
  if (parent.is(Kind::kSubscript)) return true;  // a key, or some of its characters
  return parent.is_any(Kind::kInterpolation, Kind::kBinaryOperator, Kind::kPair) ||
         (parent.is(Kind::kComparison) && compares_strings(parent));
}

bool is_read_as_string(const SemanticModel& model, Node target) {
  for (const Node read : reads_of(model, target)) {
    if (is_string_read(read)) return true;
    const Node assignment = read.parent();
    if (!assignment.is(Kind::kAssignment) || read.field() != Field::kRight) continue;
    // self.device = device
    const Node left = assignment.child(Field::kLeft);
    const semantics::ClassFacts* facts = model.enclosing_class(left);
    if (facts == nullptr || !left.is(Kind::kAttribute) ||
        left.child(Field::kObject).text() != model.self_name(left))
      continue;
    const auto kept = reads_of_attribute(model, *facts, left.child(Field::kAttributeName).text());
    if (std::any_of(kept.begin(), kept.end(), is_string_read)) return true;
  }
  return false;
}

// The function of the file that a call runs; the constructor for a class.
Node function_of_call(const SemanticModel& model, Node call) {
  const Node callee = syntax::callee(call);
  if (callee.is(Kind::kIdentifier)) {
    if (const Node function = model.function_named(callee.text(), call)) return function;
    const semantics::ClassFacts* facts = model.class_named(callee.text());
    if (facts == nullptr) return {};
    const auto constructor = facts->methods.find("__init__");
    return constructor == facts->methods.end() ? Node{} : constructor->second;
  }
  const semantics::ClassFacts* facts = model.enclosing_class(call);
  if (facts == nullptr || object_of(call).text() != model.self_name(call)) return {};
  const auto method = facts->methods.find(method_name(call));
  return method == facts->methods.end() ? Node{} : method->second;
}

// The name of the parameter that gets an argument.
Node parameter_of_argument(const SemanticModel& model, Node function, Node call, Node argument) {
  const Node parent = argument.parent();
  std::string_view wanted;
  std::size_t position = 0;
  if (parent.is(Kind::kKeywordArgument)) {
    wanted = parent.child(Field::kName).text();
  } else {
    while (syntax::positional(call, position) && syntax::positional(call, position) != argument)
      ++position;
    const bool method = model.enclosing_class(function) != nullptr &&
                        !model.self_name(function.child(Field::kBody)).empty();
    if (method) ++position;
  }
  std::size_t index = 0;
  for (const semantics::Binding* binding : model.scopes().of_scope(function)) {
    if (binding->kind != semantics::BindingKind::kParameter) continue;
    if (wanted.empty() ? index == position : binding->name == wanted) return binding->target;
    ++index;
  }
  return {};
}

}  // namespace

bool must_stay_string(const SemanticModel& model, Node call, Node argument) {
  if (!call) return false;
  const bool named = argument.parent().is(Kind::kKeywordArgument);
  if (named && keeps_arguments(method_name(call))) return true;
  const Node function = function_of_call(model, call);
  if (!function) return false;
  const Node parameter = parameter_of_argument(model, function, call, argument);
  return parameter && is_read_as_string(model, parameter);
}

}  // namespace torchport::rules
