// Infers types and device states. Every step is local and bounded: a chain of names is followed at
// most kMaxDepth deep.
//
// The answer for a node at a depth depends only on these two, so that one rule's question cannot
// change the answer that another rule gets. Cycles (x = f(x)) end at the bound, too. Marking the
// nodes of the current question would make an answer depend on where a cycle was entered. An answer
// that no bound cut off is cached with its height (the depth below its node that it needed), and
// serves at each depth that leaves room for this height. An answer that was cut off is cached for
// its own depth only, and in a cache of bounded size: a name that is bound anew a hundred thousand
// times has a million of them, and one that is asked for again is nearly always asked for soon.
#include <algorithm>
#include <array>
#include <utility>

#include "source/semantics/inferred.h"
#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

namespace {

constexpr int kMaxDepth = 12;

// What is true on every path: types must agree, and device states that differ become unknown.
Value join(const Value& a, const Value& b) {
  Value result = a;
  if (a.type != b.type)
    result.type = a.is(Type::kNone) ? b.type : b.is(Type::kNone) ? a.type : Type::kUnknown;
  if (a.device_state != b.device_state) {
    result.device_state =
        a.device_state == DeviceState::kFollows || b.device_state == DeviceState::kFollows
            ? DeviceState::kFollows
            : DeviceState::kUnknown;
    if (!result.device) result.device = b.device;
  }
  if (a.text != b.text) result.text.clear();
  return result;
}

}  // namespace

void SemanticModel::set_device_state(Value& value, Node device, int depth) const {
  device = syntax::unwrap(device);
  if (!device || device.is(Kind::kNone)) return;
  const Value named = infer(device, depth + 1);
  if (named.is(Type::kString)) {
    value.device_state = is_cuda_string(named.text) ? DeviceState::kCuda
                         : named.text == "cpu"      ? DeviceState::kCpu
                                                    : DeviceState::kFollows;
  } else if (named.is(Type::kDevice) && named.device_state != DeviceState::kUnknown) {
    value.device_state = named.device_state;
  } else if (device.is(Kind::kInteger)) {
    value.device_state = DeviceState::kCuda;  // a bare index means CUDA
  } else {
    value.device_state = DeviceState::kFollows;
  }
  value.device = device;
}

Value SemanticModel::infer(Node expression, int depth) const {
  expression = syntax::unwrap(expression);
  if (!expression) return {};
  deepest_ = std::max(deepest_, depth);
  if (depth > kMaxDepth) return {};
  const std::uint32_t node = expression.index();
  if (const WholeValue* const found = whole_values_.find(node);
      found != nullptr && depth + found->height <= kMaxDepth) {
    deepest_ = std::max(deepest_, depth + found->height);
    return found->value;
  }
  const std::uint64_t node_and_depth = std::uint64_t{node} << 32U | static_cast<unsigned>(depth);
  if (const Value* found = cut_values_.find(node_and_depth)) {
    deepest_ = kMaxDepth + 1;
    return *found;
  }
  const int deepest_before = std::exchange(deepest_, depth);
  Value result = infer_anew(expression, depth);
  if (deepest_ <= kMaxDepth)
    whole_values_.put(node, WholeValue{result, deepest_ - depth});
  else
    cut_values_.keep(node_and_depth, result);
  deepest_ = std::max(deepest_, deepest_before);
  return result;
}

Value SemanticModel::infer_anew(Node expression, int depth) const {
  Value result;
  switch (expression.kind()) {
    case Kind::kString:
    case Kind::kConcatenatedString: {
      result = of(Type::kString, expression);
      std::string text;
      if (syntax::string_value(expression, text)) result.text = std::move(text);
      break;
    }
    case Kind::kInteger:
    case Kind::kFloat:
      result = of(Type::kNumber, expression);
      break;
    case Kind::kTrue:
    case Kind::kFalse:
    case Kind::kComparison:
    case Kind::kNotOperator:
      result = of(Type::kBool, expression);
      break;
    case Kind::kNone:
      result = of(Type::kNone, expression);
      break;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kSet:
    case Kind::kDictionary:
    case Kind::kListComprehension:
    case Kind::kDictionaryComprehension:
      result = of(Type::kContainer, expression);
      break;
    case Kind::kIdentifier:
      result = infer_name(expression, depth);
      break;
    case Kind::kAttribute:
      result = infer_attribute(expression, depth);
      break;
    case Kind::kCall:
      result = infer_call(expression, depth);
      break;
    case Kind::kSubscript: {
      const Value object = infer(expression.child(Field::kValue), depth + 1);
      if (object.is(Type::kTensor) || object.is(Type::kNumpy)) result = object;
      break;
    }
    case Kind::kConditional: {
      const auto parts = expression.children();
      if (parts.size() == 3) {
        const Value yes = infer(parts[0], depth + 1);
        const Value no = infer(parts[2], depth + 1);
        result = join(yes, no);
        // "cuda" if ... else "cpu": a string that depends on the machine.
        if (yes.is(Type::kString) && no.is(Type::kString) && yes.text != no.text)
          result.device_state = DeviceState::kFollows;
      }
      break;
    }
    case Kind::kBinaryOperator: {
      const Value left = infer(expression.child(Field::kLeft), depth + 1);
      const Value right = infer(expression.child(Field::kRight), depth + 1);
      if (left.is(Type::kTensor))  // also with an array behind it
        result = left;
      else if (right.is(Type::kTensor) && !left.is(Type::kNumpy))
        result = right;
      else if (left.is(Type::kNumpy) || right.is(Type::kNumpy))
        result = of(Type::kNumpy, expression);
      else if (left.is(Type::kNumber) && right.is(Type::kNumber))
        result = left;
      break;
    }
    case Kind::kUnaryOperator:
      result = infer(expression.child(Field::kArgument), depth + 1);
      break;
    case Kind::kAwait:
    case Kind::kNamedExpression:
      break;
    default:
      break;
  }
  return result;
}

Value SemanticModel::infer_binding(const Binding& binding, int depth) const {
  switch (binding.kind) {
    case BindingKind::kAssign:
      return binding.unpacked ? Value{} : infer(binding.value, depth + 1);
    case BindingKind::kWith:
      return {};
    case BindingKind::kParameter: {
      const std::string& hint = qualified(binding.annotation.first_child());
      if (hint == "torch.Tensor" || hint.ends_with("Tensor"))
        return of(Type::kTensor, binding.target, DeviceState::kFollows);
      if (hint == "torch.nn.Module")
        return of(Type::kModule, binding.target, DeviceState::kFollows);
      if (hint == "torch.device") return of(Type::kDevice, binding.target, DeviceState::kFollows);
      if (is_numpy_name(hint)) return of(Type::kNumpy, binding.target);
      return {};
    }
    default:
      return {};
  }
}

Value SemanticModel::infer_name(Node identifier, int depth) const {
  if (const std::string_view self = self_name(identifier);
      !self.empty() && identifier.text() == self) {
    const ClassFacts* facts = enclosing_class(identifier);
    if (facts == nullptr) return {};
    return of(facts->is_module ? Type::kModule : Type::kForeign, identifier, DeviceState::kUnknown,
              std::string(facts->name));
  }
  const auto bindings = scopes_.reaching(identifier.text(), identifier);
  if (bindings.empty()) return {};
  Value result = infer_binding(*bindings.front(), depth);
  for (std::size_t i = 1; i < bindings.size(); ++i) {
    const Binding& binding = *bindings[i];
    if (binding.kind == BindingKind::kAugmented || binding.kind == BindingKind::kDelete) continue;
    result = join(result, infer_binding(binding, depth));
  }
  return result;
}

Value SemanticModel::infer_attribute(Node attribute, int depth) const {
  const Node object = attribute.child(Field::kObject);
  const std::string_view name = attribute.child(Field::kAttributeName).text();
  const std::string& imported = qualified(attribute);
  if (!imported.empty()) return {};
  if (object.is(Kind::kIdentifier) && object.text() == self_name(attribute)) {
    const ClassFacts* facts = enclosing_class(attribute);
    if (facts == nullptr) return {};
    const auto found = facts->attributes.find(name);
    if (found == facts->attributes.end()) return {};
    Value result = infer(found->second.front().value, depth + 1);
    for (std::size_t i = 1; i < found->second.size(); ++i)
      result = join(result, infer(found->second[i].value, depth + 1));
    return result;
  }
  Value value = infer(object, depth + 1);
  if (value.is(Type::kTensor)) {
    if (name == "data" || name == "grad" || name == "T" || name == "mT" || name == "real" ||
        name == "imag")
      return value;
    if (name == "device")
      return of(
          Type::kDevice, attribute,
          value.device_state == DeviceState::kUnknown ? DeviceState::kFollows : value.device_state);
  }
  if (name == "device") return of(Type::kDevice, attribute, DeviceState::kFollows);
  if (name == "module" && value.is(Type::kModule)) return value;
  return {};
}

}  // namespace torchport::semantics
