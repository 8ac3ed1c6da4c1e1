#include "source/flow/sources.h"

#include <algorithm>
#include <array>
#include <utility>

namespace torchport::flow {

namespace {

using semantics::Binding;
using semantics::BindingKind;
using semantics::SemanticModel;
using semantics::Type;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

constexpr int kMaxDepth = 10;
constexpr std::uint32_t kMaxSteps = 400'000;  // in one file; ordinary ones take thousands

Sources unknown() {
  Sources sources;
  sources.elsewhere = true;
  return sources;
}

bool has_no_tensor(Type type) {
  return type == Type::kNumber || type == Type::kString || type == Type::kBool ||
         type == Type::kNone || type == Type::kNumpy || type == Type::kDevice;
}

// Attributes and methods whose result is on the CPU, whatever they are asked of.
bool leaves_devices(std::string_view name) {
  static constexpr std::array<std::string_view, 14> kNames{
      "cpu",   "numpy", "item",  "tolist", "size",    "dim",           "numel",
      "shape", "ndim",  "dtype", "device", "is_cuda", "requires_grad", "__len__"};
  return base::one_of(kNames, name);
}

bool is_plain_annotation(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kNames{"str",  "int",  "float",
                                                          "bool", "Path", "np.ndarray"};
  return base::one_of(kNames, text);
}

// Builtins that return numbers, text or flags.
bool returns_numbers(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kNames{"len",   "int",  "float",      "range",
                                                           "str",   "bool", "isinstance", "hasattr",
                                                           "round", "id",   "type",       "print"};
  return base::one_of(kNames, name);
}

bool names_cpu(const SemanticModel& model, Node device) {
  device = syntax::unwrap(device);
  if (device.is(Kind::kCall) && model.called(device) == "torch.device")
    device = syntax::argument(device, 0, "type");
  return model.constant_string(device) == "cpu";
}

std::uint16_t index_of_parameter(const Binding& binding) {
  std::uint16_t index = 0;
  const Node parameters = syntax::function_of(binding.target).child(Field::kParametersPart);
  for (Node parameter = parameters.first_child(); parameter; parameter = parameter.next_sibling()) {
    if (parameter.holds(binding.target)) return index;
    ++index;
  }
  return index;
}

// The dotted name of the class around a node, in its file; "" outside of classes.
std::string class_name_of(Node node) {
  std::string name;
  for (Node up = syntax::class_of(node); up; up = syntax::class_of(up))
    name.insert(0, std::string(up.child(Field::kName).text()) + (name.empty() ? "" : "."));
  return name;
}

bool is_self(const SemanticModel& model, Node expression) {
  return expression.is(Kind::kIdentifier) && !expression.text().empty() &&
         expression.text() == model.self_name(expression);
}

Callee method_of(const SemanticModel& model, Node attribute) {
  const Node object = attribute.child(Field::kObject);
  const std::string_view name = attribute.child(Field::kAttributeName).text();
  if (is_self(model, object)) {
    const semantics::ClassFacts* facts = model.enclosing_class(attribute);
    if (facts != nullptr && facts->methods.contains(name))
      return "=" + class_name_of(attribute) + "." + std::string(name);
    return "." + std::string(name);
  }
  if (object.is(Kind::kIdentifier) && model.class_named(object.text()) != nullptr)
    return "=" + std::string(object.text()) + "." + std::string(name);
  const semantics::Value value = model.value(object);
  if (const semantics::ClassFacts* facts = model.class_named(value.text);
      !value.text.empty() && facts != nullptr && facts->methods.contains(name))
    return "=" + value.text + "." + std::string(name);
  return "." + std::string(name);
}

}  // namespace

Callee referred_to(const SemanticModel& model, Node expression) {
  const std::string& name = model.qualified(expression);
  if (!name.empty()) return name.starts_with("torch.") ? Callee{} : "@" + name;
  if (expression.is(Kind::kIdentifier)) {
    if (const Node function = model.function_named(expression.text(), expression))
      return "=" + name_of(function);
    if (model.class_named(expression.text()) != nullptr)
      return "=" + std::string(expression.text());
    return {};
  }
  return expression.is(Kind::kAttribute) ? method_of(model, expression) : Callee{};
}

Callee callee_of(const SemanticModel& model, Node call) {
  return referred_to(model, syntax::callee(call));
}

void Sources::add(Sources other) {
  if (!elsewhere && inputs.empty() && results.empty()) {
    *this = std::move(other);
    return;
  }
  elsewhere |= other.elsewhere;
  const auto join = [](auto& own, auto& more) {
    for (auto& item : more)
      if (std::find(own.begin(), own.end(), item) == own.end()) own.push_back(std::move(item));
  };
  join(inputs, other.inputs);
  join(results, other.results);
}

Sources SourceFinder::of(Node expression, int depth) {
  expression = syntax::unwrap(expression);
  if (!expression) return {};
  if (depth > kMaxDepth || ++steps_ > kMaxSteps) return unknown();
  const std::uint32_t node = expression.index();
  if (const Answer* const found = known_.find(node)) {
    // In a cycle (`x = x + 1`) the open question adds nothing to itself, but what is found on the
    // way is only a part.
    if (found->open != 0) outermost_ = std::min(outermost_, found->open);
    return found->sources;
  }
  const std::uint32_t own = ++questions_;
  const std::uint32_t before = std::exchange(outermost_, ~0U);
  known_.put(node, {{}, own});
  Sources sources = anew(expression, depth);
  if (outermost_ < own)
    known_.erase(node);
  else
    known_.put(node, {sources, 0});
  outermost_ = std::min(before, outermost_ < own ? outermost_ : ~0U);
  --questions_;
  return sources;
}

Sources SourceFinder::anew(Node expression, int depth) {
  if (has_no_tensor(model_.value(expression).type)) return {};
  switch (expression.kind()) {
    case Kind::kIdentifier:
      return of_name(expression, depth);
    case Kind::kAttribute:
      return of_attribute(expression, depth);
    case Kind::kCall:
      return of_call(expression, depth);
    case Kind::kSubscript:
      return of(expression.child(Field::kValue), depth + 1);
    case Kind::kListComprehension:
    case Kind::kDictionaryComprehension:
    case Kind::kGenerator:
      return of(expression.child(Field::kBody), depth + 1);
    case Kind::kNamedExpression:
      return of(expression.child(Field::kValue), depth + 1);
    case Kind::kString:
    case Kind::kLambda:
      return {};
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kSet:
    case Kind::kDictionary:
    case Kind::kPair:
    case Kind::kExpressionList:
    case Kind::kListSplat:
    case Kind::kBinaryOperator:
    case Kind::kBooleanOperator:
    case Kind::kUnaryOperator:
    case Kind::kComparison:
    case Kind::kConditional:
    case Kind::kAwait: {
      Sources sources;
      for (Node part = expression.first_child(); part; part = part.next_sibling()) {
        if (part.field() != Field::kOperator) sources.add(of(part, depth + 1));
      }
      return sources;
    }
    default:
      return unknown();
  }
}

Sources SourceFinder::of_name(Node identifier, int depth) {
  if (is_self(model_, identifier)) return unknown();
  Sources sources;
  for (const Binding* binding : model_.scopes().reaching(identifier.text(), identifier)) {
    switch (binding->kind) {
      case BindingKind::kParameter: {
        const Node owner = syntax::function_of(binding->target);
        if (is_plain_annotation(binding->annotation.text()) || feeds_from_cpu(model_, owner)) break;
        if (binding->unpacked || owner != syntax::function_of(identifier)) return unknown();
        Sources input;
        input.inputs.push_back(index_of_parameter(*binding));
        sources.add(std::move(input));
        break;
      }
      case BindingKind::kAssign:
      case BindingKind::kAugmented:
      case BindingKind::kFor:
      case BindingKind::kWith:
        sources.add(of(binding->value, depth + 1));
        break;
      case BindingKind::kOther:
        return unknown();
      default:
        break;
    }
  }
  return sources;
}

Sources SourceFinder::of_attribute(Node attribute, int depth) {
  if (leaves_devices(attribute.child(Field::kAttributeName).text())) return {};
  if (!model_.qualified(attribute).empty()) return {};
  const Node object = attribute.child(Field::kObject);
  if (!is_self(model_, object)) return of(object, depth + 1);
  const Node function = syntax::function_of(attribute);
  return feeds_from_cpu(model_, function) ? Sources{} : unknown();
}

Sources SourceFinder::of_arguments(Node call, int depth) {
  Sources sources;
  for (const syntax::Argument& argument : syntax::arguments(call))
    sources.add(of(argument.value, depth + 1));
  return sources;
}

Sources SourceFinder::of_call(Node call, int depth) {
  const std::string& name = model_.called(call);
  const Node function = syntax::callee(call);
  if (name.starts_with("torch.")) {
    if (name == "torch.load")
      return names_cpu(model_, syntax::argument(call, 1, "map_location")) ? Sources{} : unknown();
    if (name.starts_with("torch.cuda.") || semantics::is_module_base(name)) return unknown();
    const Node device = syntax::keyword(call, "device");
    if (device && !device.is(Kind::kNone)) return names_cpu(model_, device) ? Sources{} : unknown();
    return of_arguments(call, depth);
  }
  if (function.is(Kind::kIdentifier) && name.empty()) {
    if (returns_numbers(function.text())) return {};
    const bool known = model_.function_named(function.text(), function) ||
                       model_.scopes().reaching(function.text(), function).empty();
    if (!known) return unknown();
  }
  if (function.is(Kind::kAttribute) && name.empty()) {
    const std::string_view method = function.child(Field::kAttributeName).text();
    const Node object = function.child(Field::kObject);
    if (leaves_devices(method)) return {};
    if (method == "cuda") return unknown();
    if (method == "to" || method == "type_as") {
      const Node target = syntax::argument(call, 0, method == "to" ? "device" : "other");
      if (names_cpu(model_, target)) return {};
      if (model_.qualified(target).starts_with("torch.")) return of(object, depth + 1);  // a dtype
      const bool device_of =
          target.is(Kind::kAttribute) && target.child(Field::kAttributeName).text() == "device";
      if (device_of) return of(target.child(Field::kObject), depth + 1);
      return method == "type_as" ? of(target, depth + 1) : unknown();
    }
    if (!is_self(model_, object)) {
      Sources sources = of_arguments(call, depth);
      sources.add(of(object, depth + 1));
      return sources;
    }
  } else if (name.empty() && !function.is(Kind::kIdentifier)) {
    return unknown();
  }
  Sources sources = of_arguments(call, depth);
  const Callee callee = callee_of(model_, call);
  if (callee.starts_with('.')) return unknown();
  if (!callee.empty()) sources.results.push_back(callee);
  return sources;
}

}  // namespace torchport::flow
