// Type-and-place inference. Every step is local and bounded: a chain of names
// is followed at most kMaxDepth deep, answers are cached per node.
#include <algorithm>
#include <array>

#include "source/semantics/model.h"

namespace torchport::flow {

namespace {

constexpr int kMaxDepth = 12;

Value of(Type type, Node origin, Place place = Place::kUnknown, std::string text = {}) {
  Value value;
  value.type = type;
  value.place = place;
  value.text = std::move(text);
  value.origin = origin;
  return value;
}

// What is true on every path: types must agree, places that differ are unknown.
Value join(const Value& a, const Value& b) {
  Value result = a;
  if (a.type != b.type)
    result.type = a.is(Type::kNone) ? b.type : b.is(Type::kNone) ? a.type : Type::kUnknown;
  if (a.place != b.place) {
    result.place = a.place == Place::kFollows || b.place == Place::kFollows ? Place::kFollows
                                                                            : Place::kUnknown;
    if (!result.device) result.device = b.device;
  }
  if (a.text != b.text) result.text.clear();
  return result;
}

bool is_numpy_name(std::string_view name) {
  return name == "numpy" || name.starts_with("numpy.");
}

std::string_view top_module(std::string_view qualified) {
  return qualified.substr(0, qualified.find('.'));
}

}  // namespace

void Model::place_by_device(Value& value, Node device, int depth) const {
  device = syntax::unwrap(device);
  if (!device || device.is(Kind::kNone)) return;
  const Value named = infer(device, depth + 1);
  if (named.is(Type::kString)) {
    value.place = is_cuda_string(named.text) ? Place::kCuda
                  : named.text == "cpu"      ? Place::kCpu
                                             : Place::kFollows;
  } else if (named.is(Type::kDevice) && named.place != Place::kUnknown) {
    value.place = named.place;
  } else if (device.is(Kind::kInteger)) {
    value.place = Place::kCuda;  // a bare index means CUDA
  } else {
    value.place = Place::kFollows;
  }
  value.device = device;
}

Value Model::infer(Node expression, int depth) const {
  expression = syntax::unwrap(expression);
  if (!expression || depth > kMaxDepth) return {};
  if (const auto found = values_.find(expression.index()); found != values_.end())
    return found->second;
  values_[expression.index()] = {};  // cuts cycles such as x = f(x)
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
        // "cuda" if ... else "cpu": a string that follows the machine.
        if (yes.is(Type::kString) && no.is(Type::kString) && yes.text != no.text)
          result.place = Place::kFollows;
      }
      break;
    }
    case Kind::kBinaryOperator: {
      const Value left = infer(expression.child(Field::kLeft), depth + 1);
      const Value right = infer(expression.child(Field::kRight), depth + 1);
      if (left.is(Type::kTensor) && !right.is(Type::kNumpy))
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
  values_[expression.index()] = result;
  return result;
}

Value Model::infer_binding(const Binding& binding, int depth) const {
  switch (binding.kind) {
    case BindingKind::kAssign:
      return binding.unpacked ? Value{} : infer(binding.value, depth + 1);
    case BindingKind::kWith:
      return {};
    case BindingKind::kParameter: {
      const std::string& hint = qualified(binding.annotation.first_child());
      if (hint == "torch.Tensor" || hint.ends_with("Tensor"))
        return of(Type::kTensor, binding.target, Place::kFollows);
      if (hint == "torch.nn.Module") return of(Type::kModule, binding.target, Place::kFollows);
      if (hint == "torch.device") return of(Type::kDevice, binding.target, Place::kFollows);
      if (is_numpy_name(hint)) return of(Type::kNumpy, binding.target);
      return {};
    }
    default:
      return {};
  }
}

Value Model::infer_name(Node identifier, int depth) const {
  if (const std::string_view self = self_name(identifier);
      !self.empty() && identifier.text() == self) {
    const ClassFacts* facts = enclosing_class(identifier);
    if (facts == nullptr) return {};
    return of(facts->is_module ? Type::kModule : Type::kForeign, identifier, Place::kUnknown,
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

Value Model::infer_attribute(Node attribute, int depth) const {
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
      return of(Type::kDevice, attribute,
                value.place == Place::kUnknown ? Place::kFollows : value.place);
  }
  if (name == "device") return of(Type::kDevice, attribute, Place::kFollows);
  if (name == "module" && value.is(Type::kModule)) return value;
  return {};
}

Value Model::infer_call(Node call, int depth) const {
  const std::string& name = called(call);
  if (name.empty()) {
    const Node function = syntax::callee(call);
    if (function.is(Kind::kIdentifier)) {
      if (const ClassFacts* facts = class_named(function.text()); facts != nullptr) {
        return facts->is_module
                   ? of(Type::kModule, call, Place::kCpu, std::string(facts->name))
                   : of(Type::kForeign, call, Place::kUnknown, std::string(facts->name));
      }
      const std::string_view builtin = function.text();
      if (builtin == "int" || builtin == "float" || builtin == "len")
        return of(Type::kNumber, call);
      if (builtin == "str") return of(Type::kString, call);
      if (builtin == "bool") return of(Type::kBool, call);
      if (builtin == "list" || builtin == "dict" || builtin == "tuple")
        return of(Type::kContainer, call);
      return {};
    }
    if (!function.is(Kind::kAttribute)) return {};
    const Value object = infer(function.child(Field::kObject), depth + 1);
    return infer_method(call, object, function.child(Field::kAttributeName).text(), depth);
  }
  if (is_factory(name)) {
    Value value = of(Type::kTensor, call, Place::kCpu, name);
    place_by_device(value, syntax::keyword(call, "device"), depth);
    if (name == "torch.as_tensor" && !syntax::keyword(call, "device")) {
      const Value source = infer(syntax::positional(call, 0), depth + 1);
      if (source.is(Type::kTensor)) value.place = source.place;
    }
    return value;
  }
  if (name == "torch.device") {
    Value value = of(Type::kDevice, call);
    place_by_device(value, syntax::argument(call, 0, "device"), depth);
    if (value.place == Place::kUnknown) value.place = Place::kFollows;
    return value;
  }
  if (name == "torch.from_numpy" || name == "torch.Tensor" || name == "torch.FloatTensor" ||
      name == "torch.LongTensor" || name == "torch.IntTensor" || name == "torch.DoubleTensor" ||
      name == "torch.ByteTensor" || name == "torch.BoolTensor" || name == "torch.HalfTensor") {
    return of(Type::kTensor, call, Place::kCpu, name);
  }
  if (name.starts_with("torch.cuda.") && name.ends_with("Tensor"))
    return of(Type::kTensor, call, Place::kCuda, name);
  if (name == "torch.autograd.Variable" || name == "torch.nn.Parameter") {
    Value value = infer(syntax::argument(call, 0, "data"), depth + 1);
    value.type = Type::kTensor;
    value.origin = call;
    value.text = name;
    return value;
  }
  if (name == "torch.load") return of(Type::kStateDict, call);
  if (name == "torch.utils.data.DataLoader") return of(Type::kDataLoader, call);
  if (name.starts_with("torch.optim.")) {
    return name.find("lr_scheduler") == std::string::npos ? of(Type::kOptimizer, call)
                                                          : of(Type::kForeign, call);
  }
  if (name == "torch.nn.DataParallel" || name == "torch.nn.parallel.DataParallel" ||
      name == "torch.nn.parallel.DistributedDataParallel") {
    Value value = infer(syntax::positional(call, 0), depth + 1);
    return of(Type::kModule, call, value.place, name);
  }
  if (is_module_base(name)) return of(Type::kModule, call, Place::kCpu, name);
  if (name.ends_with("_like") && name.starts_with("torch.")) {
    Value value = infer(syntax::positional(call, 0), depth + 1);
    value.type = Type::kTensor;
    place_by_device(value, syntax::keyword(call, "device"), depth);
    return value;
  }
  if (name.starts_with("torch.nn.functional.") || name == "torch.cat" || name == "torch.stack" ||
      (name.starts_with("torch.") && name.find('.', 6) == std::string::npos &&
       keeps_device(name.substr(6)))) {
    Value source = infer(syntax::positional(call, 0), depth + 1);
    Value value =
        of(Type::kTensor, call, source.is(Type::kTensor) ? source.place : Place::kUnknown, name);
    value.device = source.device;
    return value;
  }
  if (is_numpy_name(name)) return of(Type::kNumpy, call, Place::kUnknown, name);
  if (name.starts_with("torchvision.models.")) return of(Type::kModule, call, Place::kCpu, name);
  if (top_module(name) == "torch" || name.starts_with('.')) return {};
  static constexpr std::array<std::string_view, 8> kForeignOwners{
      "cupy", "pycuda", "numba", "tensorflow", "mxnet", "chainer", "jax", "paddle"};
  const bool foreign = std::find(kForeignOwners.begin(), kForeignOwners.end(), top_module(name)) !=
                       kForeignOwners.end();
  return foreign ? of(Type::kForeign, call, Place::kUnknown, name) : Value{};
}

Value Model::infer_method(Node call, const Value& object, std::string_view method,
                          int depth) const {
  if (method == "cuda") {
    Value value = object;
    value.place = Place::kCuda;
    value.device = {};
    return value;
  }
  if (method == "cpu") {
    Value value = object;
    value.place = Place::kCpu;
    if (value.is(Type::kUnknown)) value.type = Type::kTensor;
    return value;
  }
  if (method == "to") {
    Value value = object;
    const Node target = syntax::argument(call, 0, "device");
    const std::string& dtype = qualified(target);
    if (!dtype.starts_with("torch.")) place_by_device(value, target, depth);
    return value;
  }
  if (object.is(Type::kModule)) {
    if (method == "eval" || method == "train" || method == "half" || method == "float" ||
        method == "double" || method == "requires_grad_" || method == "apply") {
      return object;
    }
    if (method == "state_dict") return of(Type::kStateDict, call);
    return {};
  }
  if (method == "state_dict") return of(Type::kStateDict, call);
  if (object.is(Type::kTensor)) {
    if (method == "numpy") return of(Type::kNumpy, call);
    if (method == "item") return of(Type::kNumber, call);
    if (method == "tolist") return of(Type::kContainer, call);
    if (method == "size" || method == "dim" || method == "numel") return of(Type::kNumber, call);
    if (keeps_device(method)) return object;
    return {};
  }
  if (object.is(Type::kNumpy)) return object;
  if (method == "numpy") return of(Type::kNumpy, call);
  return {};
}

}  // namespace torchport::flow
