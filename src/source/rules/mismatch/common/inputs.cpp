#include "source/rules/mismatch/common/inputs.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

using semantics::Binding;
using semantics::BindingKind;

bool is_tensor_hint(const std::string& name) {
  static constexpr std::array<std::string_view, 4> kHints{"torch.Tensor", "torch.FloatTensor",
                                                          "torch.LongTensor", "torch.BoolTensor"};
  return std::find(kHints.begin(), kHints.end(), name) != kHints.end();
}

// Whether what the function gets is on the CPU, or says nothing: where data is prepared, in
// constructors, and in torch.autograd.Function.
bool has_no_inputs(const SemanticModel& model, Node function, const semantics::ClassFacts* facts) {
  if (function.child(Field::kName).text() == "__init__" || !model.imports_torch() ||
      flow::feeds_from_cpu(model, function))
    return true;
  return facts != nullptr &&
         std::any_of(facts->bases.begin(), facts->bases.end(),
                     [](const std::string& base) { return base.ends_with("Function"); });
}

// Whether the function brings the name to the CPU: `x = x.cpu()`, `x = x.numpy()`, `with
// torch.device(d):`.
bool goes_to_cpu(const SemanticModel& model, Node function, std::string_view name) {
  for (const std::string_view method : {"cpu", "numpy"}) {
    for (const Node call : model.calls_of(method, function)) {
      Node base = object_of(call);
      while (base.is_any(Kind::kCall, Kind::kAttribute))
        base = base.is(Kind::kCall) ? object_of(base) : base.child(Field::kObject);
      if (base.text() == name) return true;
    }
  }
  return false;
}

// Whether the function works with inputs on the CPU only: `x.permute(1, 2, 0).numpy()`, with no
// `.cpu()` before it, or `edges = edges.to("cpu")` for what was computed from them.
bool works_on_cpu_only(const SemanticModel& model, Node function, const TensorInputs& inputs) {
  for (const Node call : model.calls_of("numpy", function)) {
    const Node object = object_of(call);
    const bool brought = object.text().find("cpu") != std::string_view::npos;
    if (!brought && syntax::function_of(call) == function && inputs.feed(model, object))
      return true;
  }
  for (const Node call : model.calls_of("to", function)) {
    Node target = syntax::argument(call, 0, "device");
    if (target.is(Kind::kCall) && model.called(target) == "torch.device")
      target = syntax::argument(target, 0, "type");
    const Node assignment = call.parent();
    const bool kept = assignment.is(Kind::kAssignment) &&
                      assignment.child(Field::kLeft).text() == object_of(call).text();
    if (kept && model.constant_string(target) == "cpu" && inputs.feed(model, object_of(call)))
      return true;
  }
  return false;
}

// Whether the parameter may be created here, and is then on the CPU: `if start is None: start =
// torch.zeros(n)`.
bool may_be_made_here(const SemanticModel& model, Node function, const Binding& parameter) {
  for (const Binding* binding : model.scopes().of_scope(function)) {
    if (binding->kind == BindingKind::kAssign && binding->name == parameter.name &&
        semantics::is_factory(model.called(binding->value)) &&
        !syntax::keyword(binding->value, "device"))
      return true;
  }
  return false;
}

struct Evidence {
  bool tensor = false;
  bool fed = false;  // passed to a layer: self.conv(x)
  bool other = false;
};

// How a parameter without an annotation is used: `x.size(0)` and `self.conv(x)` show a tensor; `for
// a in x`, `x["a"]` and `x is None` do not.
Evidence evidence_for(const SemanticModel& model, const Binding& parameter) {
  Evidence evidence;
  for (const Node read : reads_of(model, parameter.target)) {
    const Node parent = read.parent();
    if (parent.is(Kind::kAttribute) && read.field() == Field::kObject) {
      const std::string_view name = parent.child(Field::kAttributeName).text();
      const bool torch_only = semantics::keeps_device(name) || name == "size" || name == "dim" ||
                              name == "device" || name == "shape" || name == "dtype";
      evidence.tensor |= torch_only && name != "split" && name != "sort";
      evidence.other |= name == "items" || name == "keys" || name == "append" || name == "get" ||
                        name == "values" || name == "numpy";
    } else if (parent.is(Kind::kSubscript)) {
      evidence.other |= parent.child(Field::kSubscriptPart).is(Kind::kString);
    } else if (parent.is_any(Kind::kFor, Kind::kForIn)) {
      evidence.other |= read.field() == Field::kRight;
    } else if (parent.is(Kind::kArgumentList)) {
      const std::string& called = model.called(parent.parent());
      evidence.tensor |= called.starts_with("torch.nn.functional.");
      const std::string_view name = method_name(parent.parent());
      evidence.fed |= called.empty() &&
                      object_of(parent.parent()).text() == model.self_name(read) &&
                      syntax::positional(parent.parent(), 0) == read;
      evidence.other |=
          name == "len" || name == "isinstance" || name == "zip" || name == "enumerate";
    }
  }
  return evidence;
}

}  // namespace

namespace {

// Whether the function uses both `x.device` and `x.size(...)`: then x is a tensor, annotated or
// not.
bool asks_device(const SemanticModel& model, Node function, std::string_view name) {
  bool device = false;
  bool size = false;
  for (const Node use : model.named(name, function)) {
    const Node node = use.parent();
    if (!node.is(Kind::kAttribute) || use.field() != Field::kObject) continue;
    const std::string_view attribute = node.child(Field::kAttributeName).text();
    device |= attribute == "device";
    size |= attribute == "size" || attribute == "shape" || attribute == "dtype";
  }
  return device && size;
}

}  // namespace

TensorInputs TensorInputs::of(const SemanticModel& model, Node function) {
  TensorInputs result;
  if (!function.is(Kind::kFunction)) return result;
  const Node holder = syntax::statement_of(function).parent().parent();
  const semantics::ClassFacts* facts =
      holder.is(Kind::kClass) ? model.class_facts(holder) : nullptr;
  if (has_no_inputs(model, function, facts)) return result;
  const bool forward =
      facts != nullptr && facts->is_module && function.child(Field::kName).text() == "forward";
  for (const Binding* binding : model.scopes().of_scope(function)) {
    if (binding->kind != BindingKind::kParameter || binding->unpacked || binding->name == "self" ||
        binding->name == "cls")
      continue;
    const bool typed = is_tensor_hint(model.qualified(binding->annotation.first_child()));
    const bool untold = !typed && (binding->annotation || binding->value);
    if (untold || (!typed && !forward && !asks_device(model, function, binding->name))) continue;
    const Evidence evidence = typed ? Evidence{true, false, false} : evidence_for(model, *binding);
    if ((!evidence.tensor && !evidence.fed) || evidence.other) continue;
    if (goes_to_cpu(model, function, binding->name)) return {};
    if (may_be_made_here(model, function, *binding)) continue;
    if (evidence.tensor) result.names_.push_back(binding->name);
    result.derived_.insert(binding->name);
    result.parameters_.emplace_back(binding->name);
  }
  if (result) result.spread(model, function);
  if (result && works_on_cpu_only(model, function, result)) return {};
  return result;
}

bool TensorInputs::feed(const SemanticModel& model, Node expression) const {
  static constexpr std::array<std::string_view, 14> kNumbers{
      "size", "shape",  "dim",   "ndim", "numel",   "device",  "dtype",
      "item", "tolist", "numpy", "cpu",  "__len__", "is_cuda", "requires_grad"};
  for (std::uint32_t i = expression.index(); i < expression.subtree_end(); ++i) {
    const Node node = model.tree().at(i);
    if (!node.is(Kind::kIdentifier) || node.field() == Field::kAttributeName ||
        !derived_.contains(node.text()))
      continue;
    if (node.parent().is(Kind::kKeywordArgument) && node.field() == Field::kName) continue;
    bool number = false;
    for (Node at = node; at != expression && !number; at = at.parent()) {
      const Node up = at.parent();
      if (up.is(Kind::kAttribute) && at.field() == Field::kObject) {
        const std::string_view name = up.child(Field::kAttributeName).text();
        number = std::find(kNumbers.begin(), kNumbers.end(), name) != kNumbers.end();
      } else if (up.is(Kind::kArgumentList)) {
        const std::string& called = model.called(up.parent());
        const std::string_view name = method_name(up.parent());
        number = name == "len" || name == "int" || name == "float" || name == "max" ||
                 name == "min" || name == "range" || name == "isinstance" ||
                 name == "get_image_size" || name == "get_dimensions" ||
                 called.starts_with("numpy.") ||
                 called.ends_with("shape_as_tensor") ||  // on the CPU, whatever it is of
                 (called.empty() && syntax::callee(up.parent()).is(Kind::kIdentifier)) ||
                 semantics::is_factory(called);
      } else {
        number = up.is(Kind::kSubscript) && at.field() == Field::kSubscriptPart;
      }
    }
    if (!number) return true;
  }
  return false;
}

void TensorInputs::spread(const SemanticModel& model, Node function) {
  const auto bindings = model.scopes().of_scope(function);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Binding* binding : bindings) {
      if (binding->kind != BindingKind::kAssign || derived_.contains(binding->name) ||
          !feed(model, binding->value))
        continue;
      derived_.insert(binding->name);
      changed = true;
    }
  }
}

bool TensorInputs::is_input(const SemanticModel& model, Node identifier) const {
  if (std::find(names_.begin(), names_.end(), identifier.text()) == names_.end()) return false;
  const auto seen = model.scopes().reaching(identifier.text(), identifier);
  return seen.size() == 1 && seen.front()->kind == BindingKind::kParameter;
}

std::string TensorInputs::device_for(const PythonContext& context, Node call) const {
  const SemanticModel& model = context.model;
  // A device of the function itself: a parameter or a local variable.
  const edit::DeviceRef found = context.devices.in_scope(call);
  const bool own = !found.text.empty() && found.text.find('.') == std::string::npos &&
                   found.text.find('(') == std::string::npos;
  if (own) {
    const auto seen = model.scopes().reaching(found.text, call);
    if (!seen.empty() &&
        model.scopes().scope_node(seen.front()->target) == model.scopes().scope_node(call))
      return found.text;
  }
  // `torch.zeros(logits.size(0))`: the object whose size is used is a tensor, and the new tensor
  // belongs to its device.
  for (std::uint32_t i = call.index(); i < call.subtree_end(); ++i) {
    const Node size = model.tree().at(i);
    if (!size.is(Kind::kCall) || method_name(size) != "size" ||
        !object_of(size).is(Kind::kIdentifier))
      continue;
    if (derived_.contains(object_of(size).text()))
      return fmt::format("{}.device", object_of(size).text());
  }
  for (const std::string_view name : names_) {
    const auto seen = model.scopes().reaching(name, call);
    if (seen.size() == 1 && seen.front()->kind == BindingKind::kParameter)
      return fmt::format("{}.device", name);
  }
  // The name is bound again, to another tensor, as its later use shows: `x = self.conv(x)`, then
  // `x.size(0)`.
  for (const std::string_view name : names_) {
    const auto seen = model.scopes().reaching(name, call);
    const bool single =
        seen.size() == 1 && seen.front()->kind == BindingKind::kAssign && !seen.front()->unpacked;
    if (single && model.value(seen.front()->value).is(Type::kTensor))
      return fmt::format("{}.device", name);
  }
  return found.text.starts_with("self.") ? found.text : std::string{};
}

bool is_in_cpu_class(const SemanticModel& model, Node node) {
  const semantics::ClassFacts* facts = model.enclosing_class(node);
  if (facts == nullptr) return false;
  const auto is_cpu = [&](const semantics::ClassFacts::Attribute& set) {
    const bool wrapped = model.called(set.value) == "torch.device";
    return model.constant_string(wrapped ? syntax::positional(set.value, 0) : set.value) == "cpu";
  };
  return std::any_of(facts->attributes.begin(), facts->attributes.end(), [&](const auto& entry) {
    return entry.first.ends_with("device") &&
           std::all_of(entry.second.begin(), entry.second.end(), is_cpu);
  });
}

}  // namespace torchport::rules
