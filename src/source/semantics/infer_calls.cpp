// Infers what a call returns: of torch's functions and classes, of the file's own, of methods.
#include <algorithm>
#include <array>

#include "source/semantics/inferred.h"
#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

namespace {

std::string_view top_module(std::string_view qualified) {
  return qualified.substr(0, qualified.find('.'));
}

// Whether an expression makes an object of a class, by its name: `pkg.Model(...)`.
bool constructs(Node expression) {
  if (!expression.is(Kind::kCall)) return false;
  const std::string_view name = syntax::callee(expression).text();
  const auto first = static_cast<unsigned char>(name[name.rfind('.') + 1]);
  return first >= 'A' && first <= 'Z';
}

// What a call of a class of the file or of a builtin returns.
Value of_plain_name(const SemanticModel& model, Node call, std::string_view name) {
  if (const ClassFacts* facts = model.class_named(name); facts != nullptr) {
    return facts->is_module
               ? of(Type::kModule, call, DeviceState::kCpu, std::string(facts->name))
               : of(Type::kForeign, call, DeviceState::kUnknown, std::string(facts->name));
  }
  if (name == "int" || name == "float" || name == "len") return of(Type::kNumber, call);
  if (name == "str") return of(Type::kString, call);
  if (name == "bool") return of(Type::kBool, call);
  if (name == "list" || name == "dict" || name == "tuple") return of(Type::kContainer, call);
  return {};
}

}  // namespace

Value SemanticModel::infer_call(Node call, int depth) const {
  const std::string& name = called(call);
  if (name.empty()) {
    const Node function = syntax::callee(call);
    if (function.is(Kind::kIdentifier)) return of_plain_name(*this, call, function.text());
    if (!function.is(Kind::kAttribute)) return {};
    const Value object = infer(function.child(Field::kObject), depth + 1);
    return infer_method(call, object, function.child(Field::kAttributeName).text(), depth);
  }
  if (is_factory(name)) {
    Value value = of(Type::kTensor, call, DeviceState::kCpu, name);
    set_device_state(value, syntax::keyword(call, "device"), depth);
    if (name == "torch.as_tensor" && !syntax::keyword(call, "device")) {
      const Value source = infer(syntax::positional(call, 0), depth + 1);
      if (source.is(Type::kTensor)) value.device_state = source.device_state;
    }
    return value;
  }
  if (name == "torch.device") {
    Value value = of(Type::kDevice, call);
    set_device_state(value, syntax::argument(call, 0, "device"), depth);
    if (value.device_state == DeviceState::kUnknown) value.device_state = DeviceState::kFollows;
    return value;
  }
  if (name == "torch.from_numpy" || name == "torch.Tensor" || name == "torch.FloatTensor" ||
      name == "torch.LongTensor" || name == "torch.IntTensor" || name == "torch.DoubleTensor" ||
      name == "torch.ByteTensor" || name == "torch.BoolTensor" || name == "torch.HalfTensor") {
    return of(Type::kTensor, call, DeviceState::kCpu, name);
  }
  if (name.starts_with("torch.cuda.") && name.ends_with("Tensor"))
    return of(Type::kTensor, call, DeviceState::kCuda, name);
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
    return of(Type::kModule, call, value.device_state, name);
  }
  if (is_module_base(name)) return of(Type::kModule, call, DeviceState::kCpu, name);
  if (name.ends_with("_like") && name.starts_with("torch.")) {
    Value value = infer(syntax::positional(call, 0), depth + 1);
    value.type = Type::kTensor;
    set_device_state(value, syntax::keyword(call, "device"), depth);
    return value;
  }
  if (name.starts_with("torch.nn.functional.") || name == "torch.cat" || name == "torch.stack" ||
      (name.starts_with("torch.") && name.find('.', 6) == std::string::npos &&
       keeps_device(name.substr(6)))) {
    Value source = infer(syntax::positional(call, 0), depth + 1);
    Value value = of(Type::kTensor, call,
                     source.is(Type::kTensor) ? source.device_state : DeviceState::kUnknown, name);
    value.device = source.device;
    return value;
  }
  if (is_numpy_name(name)) return of(Type::kNumpy, call, DeviceState::kUnknown, name);
  if (name.starts_with("torchvision.models."))
    return of(Type::kModule, call, DeviceState::kCpu, name);
  if (top_module(name) == "torch" || name.starts_with('.')) return {};
  static constexpr std::array<std::string_view, 8> kForeignOwners{
      "cupy", "pycuda", "numba", "tensorflow", "mxnet", "chainer", "jax", "paddle"};
  const bool foreign = std::find(kForeignOwners.begin(), kForeignOwners.end(), top_module(name)) !=
                       kForeignOwners.end();
  return foreign ? of(Type::kForeign, call, DeviceState::kUnknown, name) : Value{};
}

Value SemanticModel::infer_method(Node call, const Value& object, std::string_view method,
                                  int depth) const {
  if (method == "cuda") {
    Value value = object;
    value.device_state = DeviceState::kCuda;
    value.device = {};
    return value;
  }
  if (method == "cpu") {
    Value value = object;
    value.device_state = DeviceState::kCpu;
    const Node made = syntax::unwrap(syntax::callee(call).child(Field::kObject));
    if (value.is(Type::kUnknown) && !constructs(made)) value.type = Type::kTensor;
    return value;
  }
  if (method == "type_as") {  // the type and the device of the other tensor
    Value value = object;
    set_device_state(value, syntax::argument(call, 0, "other"), depth);
    return value;
  }
  if (method == "to") {
    Value value = object;
    const Node target = syntax::argument(call, 0, "device");
    const std::string& dtype = qualified(target);
    if (!dtype.starts_with("torch.")) set_device_state(value, target, depth);
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

}  // namespace torchport::semantics
