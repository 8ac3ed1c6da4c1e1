#include "source/rules/mismatch/common/batch_values.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "source/rules/edits.h"
#include "source/rules/mismatch/common/forward_inputs.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

using semantics::Binding;
using semantics::BindingKind;

constexpr int kMaxBatchSteps = 12;
constexpr std::size_t kMaxBindings = 8;

// The result if a name may have either value: `if cuda: x = x.cuda()` leaves a moved x.
BatchValue joined(const BatchValue& a, const BatchValue& b) {
  if (a.loop != b.loop) return {};
  if (a.place == b.place) return a;
  const bool moved = a.is(BatchPlace::kMoved) || b.is(BatchPlace::kMoved);
  const bool part = a.is(BatchPlace::kLeft) || b.is(BatchPlace::kLeft);
  if (!moved || !part) return {};
  return a.is(BatchPlace::kMoved) ? a : b;
}

// Whether a device is the CPU, or is found from what is there: `x.to("cpu")`.
bool is_cpu(const SemanticModel& model, Node device) {
  const Value value = model.value(device);
  return value.device_state == DeviceState::kCpu ||
         (value.is(Type::kString) && value.text == "cpu");
}

// The number that `enumerate` puts before each batch: `i` in `for i, (x, y) in enumerate(loader)`.
bool is_counter(Node loop, Node target) {
  const Node iterable = syntax::unwrap(loop.child(Field::kRight));
  const std::string_view name = iterable.is(Kind::kCall) ? method_name(iterable) : "";
  const Node left = syntax::unwrap(loop.child(Field::kLeft));
  if (name != "enumerate" &&
      !(name == "tqdm" && iterable.text().find("enumerate") != std::string_view::npos))
    return false;
  return left == target || left.first_child() == target;
}

// Attributes of outputs that are no tensors.
bool is_metadata(std::string_view attribute) {
  static constexpr std::array<std::string_view, 8> kNames{
      "shape", "dtype", "device", "ndim", "is_cuda", "layout", "requires_grad", "names"};
  return base::one_of(kNames, attribute);
}

}  // namespace

bool BatchValues::may_be_model(Node callee) const {
  if (!model_.qualified(callee).empty()) return false;
  if (callee.is(Kind::kIdentifier)) {
    const auto bindings = model_.scopes().reaching(callee.text(), callee);
    return !bindings.empty() &&
           std::all_of(bindings.begin(), bindings.end(), [](const Binding* binding) {
             return binding->kind == BindingKind::kAssign ||
                    binding->kind == BindingKind::kParameter;
           });
  }
  if (!callee.is(Kind::kAttribute)) return false;
  const std::string_view name = callee.child(Field::kAttributeName).text();
  const Node object = callee.child(Field::kObject);
  if (name == "forward") return object.is(Kind::kIdentifier) ? may_be_model(object) : bool(object);
  const semantics::ClassFacts* facts = model_.enclosing_class(callee);
  return object.is(Kind::kIdentifier) && object.text() == model_.self_name(callee) &&
         facts != nullptr && !facts->methods.contains(name) && facts->attributes.contains(name);
}

BatchValue BatchValues::of(Node expression, int depth) {
  expression = syntax::unwrap(expression);
  if (!expression || depth > kMaxBatchSteps) return {};
  if (const auto known = known_.find(expression.index()); known != known_.end())
    return known->second;
  known_.emplace(expression.index(), BatchValue{});  // what depends on itself is unknown
  BatchValue value = compute(expression, depth);
  known_[expression.index()] = value;
  return value;
}

BatchValue BatchValues::compute(Node expression, int depth) {
  switch (expression.kind()) {
    case Kind::kIdentifier:
      return of_name(expression, depth);
    case Kind::kSubscript: {
      BatchValue whole = of(expression.child(Field::kValue), depth + 1);
      if (whole.is(BatchPlace::kLeft)) whole.name = expression;
      return whole;
    }
    case Kind::kAttribute: {
      const std::string_view name = expression.child(Field::kAttributeName).text();
      const BatchValue whole = of(expression.child(Field::kObject), depth + 1);
      const bool kept = name == "data" || (whole.is(BatchPlace::kOutput) && !is_metadata(name));
      return kept ? whole : BatchValue{};
    }
    case Kind::kCall:
      return of_call(expression, depth);
    default:
      return {};
  }
}

BatchValue BatchValues::of_name(Node identifier, int depth) {
  std::optional<BatchValue> result;
  const auto bindings = model_.scopes().reaching(identifier.text(), identifier);
  if (bindings.size() > kMaxBindings) return {};
  for (const Binding* binding : bindings) {
    if (binding->kind == BindingKind::kAugmented) continue;
    const BatchValue value = of_binding(*binding, identifier, depth);
    result = result ? joined(*result, value) : value;
    if (result->is(BatchPlace::kUnknown)) return {};
  }
  return result.value_or(BatchValue{});
}

BatchValue BatchValues::of_binding(const Binding& binding, Node identifier, int depth) {
  if (binding.kind == BindingKind::kFor) {
    Node loop = binding.target;
    while (loop && !loop.is_any(Kind::kFor, Kind::kForIn)) loop = loop.parent();
    if (!loop.is(Kind::kFor) || !loop.child(Field::kBody).holds(identifier) ||
        is_counter(loop, binding.target) || !is_batch_loop(loop))
      return {};
    return {BatchPlace::kLeft, loop, binding.target, {}};
  }
  if (binding.kind != BindingKind::kAssign) return {};
  BatchValue value = of(binding.value, depth + 1);
  if (!value.loop || !value.loop.holds(binding.target)) return {};
  if (value.is(BatchPlace::kLeft)) value.name = binding.target;
  // `x, y = batch.to(device)` is unknown: what a container's method returns is its own affair.
  if (binding.unpacked && value.is(BatchPlace::kMoved)) return {};
  return value;
}

BatchValue BatchValues::of_call(Node call, int depth) {
  const std::string& name = model_.called(call);
  if (name.starts_with("torch.")) {
    const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
    const bool same = name == "torch.autograd.Variable" ||
                      name.starts_with("torch.nn.functional.") ||
                      (name.find('.', 6) == std::string::npos && semantics::keeps_device(last));
    return same ? of(syntax::positional(call, 0), depth + 1) : BatchValue{};
  }
  const Node object = object_of(call);
  if (object && name.empty() && !may_be_model(syntax::callee(call)))
    return of_method(call, method_name(call), depth);
  return output_of(call, depth);
}

BatchValue BatchValues::of_method(Node call, std::string_view method, int depth) {
  if (!semantics::keeps_device(method) && method != "to" && method != "cuda" && method != "type")
    return {};
  const BatchValue receiver = of(object_of(call), depth + 1);
  if (receiver.is(BatchPlace::kUnknown)) return {};
  return is_move(model_, call) ? of_move(call, receiver, depth) : receiver;
}

BatchValue BatchValues::of_move(Node call, BatchValue receiver, int depth) {
  const bool cuda = is_cuda_move(model_, call);
  if (receiver.is(BatchPlace::kOutput) && cuda) return receiver;
  const Node device = syntax::argument(call, 0, "device");
  if (!cuda) {
    if (!device || is_cpu(model_, device)) return {};
    // `y.to(x.device)`: wherever x is.
    if (device.is(Kind::kAttribute) && device.child(Field::kAttributeName).text() == "device") {
      const BatchValue other = of(device.child(Field::kObject), depth + 1);
      if (other.is(BatchPlace::kLeft)) return {};
    }
    if (of(device, depth + 1).place != BatchPlace::kUnknown) return {};
  }
  if (receiver.is(BatchPlace::kLeft)) receiver.place = BatchPlace::kMoved;
  receiver.move = call;
  return receiver;
}

// What a model returns for parts that were moved is where they are.
BatchValue BatchValues::output_of(Node call, int depth) {
  if (!may_be_model(syntax::callee(call))) return {};
  BatchValue result;
  for (const syntax::Argument& argument : syntax::arguments(call)) {
    const BatchValue value = of(argument.value, depth + 1);
    if (value.is(BatchPlace::kLeft)) return {};
    if (value.is(BatchPlace::kUnknown)) continue;
    if (result.loop && result.loop != value.loop) return {};
    result = {BatchPlace::kOutput, value.loop, {}, value.move};
  }
  return result;
}

bool BatchValues::is_batch_loop(Node loop) {
  const auto [entry, fresh] = loops_.try_emplace(loop.index(), false);
  if (fresh) entry->second = may_yield_cpu_batches(model_, loop.child(Field::kRight));
  return entry->second;
}

}  // namespace torchport::rules
