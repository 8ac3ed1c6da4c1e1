// TP205: `.numpy()` of tensors that are on a device or require a gradient.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/inference.h"
#include "source/rules/tensors.h"

namespace torchport::rules::numpy_of_device_tensor {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP205",
    .name = "numpy-of-device-tensor",
    .family = "mismatch",
    .severity = Severity::kError,
    .summary = "`.numpy()` of a tensor that is on a device or needs a gradient",
    .on_accelerators = true,
};

constexpr int kMaxDepth = 8;

// What is known about a tensor that is converted to NumPy.
struct Source {
  bool tensor = false;    // certainly a tensor
  bool device = false;    // may be on another device than the CPU
  bool gradient = false;  // may require a gradient
};

Source join(Source a, Source b) {
  return {a.tensor || b.tensor, a.device || b.device, a.gradient || b.gradient};
}

// Whether a name gets the places of the values, which are integers: `values, indices = x.max(1)`.
bool gets_indices(const semantics::Binding& binding) {
  static constexpr auto kFunctions = std::to_array<std::string_view>(
      {"max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"});
  const Node all = binding.target.parent();
  return binding.unpacked && base::one_of(kFunctions, method_name(binding.value)) &&
         all.first_child() != binding.target && all.first_child().next_sibling() == binding.target;
}

bool has_no_parameters(std::string_view name) {
  if (!name.starts_with("torch.nn.")) return false;
  for (const std::string_view part : {"Pad", "Pool", "Upsample", "ReLU", "Sigmoid", "Softmax",
                                      "Tanh", "Flatten", "Unfold", "Fold", "Loss", "Identity"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// Whether the name that an expression starts with was brought to the CPU: `model =
// deepcopy(model).to("cpu")`, then `model.encoder`.
bool is_brought_to_cpu(const SemanticModel& model, Node expression) {
  while (expression.is(Kind::kAttribute)) expression = expression.child(Field::kObject);
  if (!expression.is(Kind::kIdentifier)) return false;
  const auto bindings = model.scopes().reaching(expression.text(), expression);
  return !bindings.empty() &&
         std::all_of(bindings.begin(), bindings.end(), [&](const semantics::Binding* binding) {
           std::string device;
           const std::string_view method = method_name(binding->value);
           return binding->kind == semantics::BindingKind::kAssign &&
                  (method == "cpu" ||
                   (method == "to" &&
                    syntax::string_value(syntax::positional(binding->value, 0), device) &&
                    device == "cpu"));
         });
}

class Tracer {
 public:
  explicit Tracer(const SemanticModel& model) : model_(model), moves_(moves_things(model)) {}

  [[nodiscard]] Source trace(Node expression, int depth = 0) const;

 private:
  [[nodiscard]] Source trace_name(Node name, int depth) const;
  [[nodiscard]] Source trace_call(Node call, int depth) const;
  [[nodiscard]] Source trace_function(Node function, int depth) const;
  [[nodiscard]] Source trace_items(Node name, int depth) const;
  [[nodiscard]] bool is_model(Node function) const;

  const SemanticModel& model_;
  bool moves_;
};

// Whether a callee is a module: it is known to be one, or has a usual name.
bool Tracer::is_model(Node function) const {
  const Value value = model_.value(function);
  // Padding, pooling and the like have no parameters: their result is on the device of their input.
  if (value.is(Type::kModule)) return !has_no_parameters(value.text);
  if (!value.is(Type::kUnknown) || !model_.qualified(function).empty()) return false;
  if (function.is(Kind::kIdentifier) && model_.function_named(function.text(), function))
    return false;
  const std::string_view name = function.is(Kind::kAttribute)
                                    ? function.child(Field::kAttributeName).text()
                                    : function.text();
  const semantics::ClassFacts* facts = model_.enclosing_class(function);
  if (function.is(Kind::kAttribute) && facts != nullptr && facts->methods.contains(name))
    return false;
  return name == "model" || name == "net" || name == "network" || name == "netG" ||
         name == "net_g" || name == "encoder" || name == "decoder";
}

Source Tracer::trace_name(Node name, int depth) const {
  Source result;
  for (const semantics::Binding* binding : model_.scopes().reaching(name.text(), name)) {
    if (binding->kind == semantics::BindingKind::kAssign) {
      Source source = trace(binding->value, depth + 1);
      if (gets_indices(*binding)) source.gradient = false;
      if (!source.tensor && !binding->value.is(Kind::kNone)) return {};  // an array on another path
      result = join(result, source);
    } else if (binding->kind == semantics::BindingKind::kFor ||
               binding->kind == semantics::BindingKind::kParameter) {
      continue;
    }
  }
  return result;
}

// Traces a list: outputs = []; outputs.append(model(x)); torch.cat(outputs)
Source Tracer::trace_items(Node name, int depth) const {
  Source result;
  const auto bindings = model_.scopes().reaching(name.text(), name);
  if (bindings.empty() || !model_.value(name).is(Type::kContainer)) return result;
  for (const Node read : reads_of(model_, bindings.front()->target)) {
    const Node call = read.parent().parent();
    if (read.parent().is(Kind::kAttribute) && call.is(Kind::kCall) &&
        method_name(call) == "append") {
      result = join(result, trace(syntax::positional(call, 0), depth + 1));
    }
  }
  return result;
}

// Traces the results of a function of this file.
Source Tracer::trace_function(Node function, int depth) const {
  Source result;
  for (const Node node : model_.nodes(Kind::kReturn, function.child(Field::kBody))) {
    if (syntax::function_of(node) == function)
      result = join(result, trace(node.first_child(), depth + 1));
  }
  return result;
}

Source Tracer::trace_call(Node call, int depth) const {
  const Node function = syntax::callee(call);
  const std::string& name = model_.called(call);
  if (name.empty()) {
    if (is_model(function))
      return {true, moves_ && !is_brought_to_cpu(model_, function), !gradients_off(model_, call)};
    if (model_.value(function).is(Type::kModule))
      return trace(syntax::positional(call, 0), depth + 1);
    if (function.is(Kind::kIdentifier)) {
      const Node local = model_.function_named(function.text(), function);
      if (!local) return {};
      Source source = trace_function(local, depth);
      source.gradient &= !gradients_off(model_, call);
      for (const syntax::Argument& argument : syntax::arguments(call))
        source.device &= !is_brought_to_cpu(model_, argument.value);
      return source;
    }
    const Node object = object_of(call);
    const std::string_view method = method_name(call);
    Source source = trace(object, depth + 1);
    if (method == "cpu") return {source.tensor, false, source.gradient};
    if (method == "detach") return {source.tensor, source.device, false};
    if (method == "cuda" || method == "to") {
      if (is_move(model_, call) && model_.value(call).device_state != DeviceState::kCpu)
        source.device = source.tensor;
      else if (is_move(model_, call))
        source.device = false;
      return source;
    }
    if (method == "argmax" || method == "argsort" || method == "long" || method == "int" ||
        method == "bool" || method == "byte" || method == "eq" || method == "gt" ||
        method == "lt" || method == "ge") {
      source.gradient = false;
    }
    return semantics::keeps_device(method) || method == "data_ptr" ? source : Source{};
  }
  const Value value = model_.value(call);
  if (semantics::is_factory(name) && value.is(Type::kTensor)) {
    // `device=device` with a parameter: the callers decide, perhaps for "cpu".
    bool given = false;
    if (value.device.is(Kind::kIdentifier)) {
      for (const semantics::Binding* b :
           model_.scopes().reaching(value.device.text(), value.device))
        given |= b->kind == semantics::BindingKind::kParameter;
    }
    return {true,
            value.device_state == DeviceState::kCuda ||
                (value.device_state == DeviceState::kFollows && !given),
            false};
  }

  if (!name.starts_with("torch.") || name.starts_with("torch.utils") ||
      name.starts_with("torch.nn.utils"))
    return {};
  const Node first = syntax::positional(call, 0);
  if (name == "torch.cat" || name == "torch.stack") {
    if (first.is(Kind::kIdentifier)) return trace_items(first, depth + 1);
    Source result;
    for (const Node item : first.children()) result = join(result, trace(item, depth + 1));
    return result;
  }
  Source source = first ? trace(first, depth + 1) : Source{};
  if (name == "torch.argmax" || name == "torch.argsort") source.gradient = false;
  return source;
}

Source Tracer::trace(Node expression, int depth) const {
  expression = syntax::unwrap(expression);
  if (!expression || depth > kMaxDepth) return {};
  if (expression.is(Kind::kIdentifier)) return trace_name(expression, depth);
  if (expression.is(Kind::kCall)) return trace_call(expression, depth);
  if (expression.is(Kind::kSubscript)) return trace(expression.child(Field::kValue), depth + 1);
  if (expression.is(Kind::kAttribute) && expression.child(Field::kAttributeName).text() == "data") {
    Source source = trace(expression.child(Field::kObject), depth + 1);
    source.gradient = false;
    return source;
  }
  if (expression.is(Kind::kBinaryOperator)) {
    return join(trace(expression.child(Field::kLeft), depth + 1),
                trace(expression.child(Field::kRight), depth + 1));
  }
  return {};
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const std::string& name = model.called(call);
  const bool array = name == "numpy.array" || name == "numpy.asarray";
  Node tensor;
  if (array)
    tensor = syntax::positional(call, 0);
  else if (method_name(call) == "numpy" && name.empty() && syntax::arguments(call).empty())
    tensor = object_of(call);
  if (!tensor || !model.imports_torch() || model.imports("tensorflow")) return;
  if (model.imports("pytorch_lightning") || model.imports("lightning"))
    return;  // validation steps run under no_grad
  const std::string_view step = syntax::function_of(call).child(Field::kName).text();
  if (step == "validation_step" || step == "test_step" || step == "predict_step")
    return;  // likewise
  const Source source = Tracer(model).trace(tensor);
  if (!source.tensor || (!source.device && !source.gradient)) return;
  const std::string missing =
      fmt::format("{}{}", source.gradient ? ".detach()" : "", source.device ? ".cpu()" : "");
  const base::Span span = array ? tensor.span() : base::Span{tensor.end() + 1, call.end()};
  Finding& finding =
      reporter.report(span, source.device ? "With the tensor on a device this raises \"can't "
                                            "convert cuda:0 device type tensor to numpy\"."
                                          : "The tensor needs a gradient, and this raises \"Can't "
                                            "call numpy() on Tensor that requires grad\".");
  if (array && !tensor.is_any(Kind::kIdentifier, Kind::kCall, Kind::kAttribute, Kind::kSubscript,
                              Kind::kParenthesized))
    return;
  Fix fix;
  fix.applicability = Applicability::kSafe;
  fix.title = fmt::format("put {} before it", missing);
  fix.edits = {insert_after(tensor, missing)};
  finding.fix.push_back(std::move(fix));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::numpy_of_device_tensor
