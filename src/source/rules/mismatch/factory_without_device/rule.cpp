// TP201: tensors created without a device in code that gets tensors from elsewhere.
#include "source/rules/rule.h"

#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "source/rules/edits.h"
#include "source/rules/mismatch/common/inputs.h"
#include "source/rules/tensors.h"

namespace torchport::rules::factory_without_device {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP201",
    .name = "factory-without-device",
    .family = "mismatch",
    .severity = Severity::kError,
    .summary =
        "a tensor is made on the CPU in a function that computes with tensors from elsewhere",
    .on_accelerators = true,
};

constexpr int kMaxDepth = 4;

bool is_legacy_constructor(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames{
      "torch.FloatTensor", "torch.LongTensor", "torch.IntTensor",  "torch.DoubleTensor",
      "torch.ByteTensor",  "torch.BoolTensor", "torch.HalfTensor", "torch.Tensor"};
  return base::one_of(kNames, name);
}

bool makes_cpu_tensor(const SemanticModel& model, Node call) {
  const std::string& name = model.called(call);
  if (syntax::keyword(call, "pin_memory").is(Kind::kTrue)) return false;  // stays on the CPU
  if (name == "torch.from_numpy" || is_legacy_constructor(name))
    return !syntax::keyword(call, "device");
  if (!semantics::is_factory(name) || syntax::keyword(call, "device") || syntax::has_splat(call))
    return false;
  // These follow the device of their arguments.
  return name != "torch.normal" && !name.starts_with("torch.sparse_");
}

bool is_random(const SemanticModel& model, Node call) {
  static constexpr std::array<std::string_view, 4> kRandom{"torch.rand", "torch.randn",
                                                           "torch.randint", "torch.randperm"};
  const Node top = chain_top(call);
  return base::one_of(kRandom, model.called(call)) ||
         top.text().find("normal_(") != std::string_view::npos ||
         top.text().find("uniform_(") != std::string_view::npos ||
         top.text().find("random_(") != std::string_view::npos;
}

// Whether the call makes a tensor of numbers or shapes: torch.tensor(0.), torch.tensor(x.shape),
// torch.tensor(tensor).
bool holds_numbers_only(const SemanticModel& model, Node call) {
  const std::string& name = model.called(call);
  const Node first = syntax::argument(call, 0, "data");
  if (name == "torch.tensor" || name == "torch.as_tensor" || name == "torch.scalar_tensor") {
    const bool many = first.is_any(Kind::kList, Kind::kTuple, Kind::kListComprehension) ||
                      (first.is(Kind::kIdentifier) && (model.value(first).is(Type::kContainer) ||
                                                       model.value(first).is(Type::kNumpy)));
    return !many || first.text().find(".shape") != std::string_view::npos ||
           first.text().find(".size(") != std::string_view::npos;
  }
  if (first.is_any(Kind::kTuple, Kind::kList) && !first.first_child()) return true;
  if (name == "torch.empty" && first.text() == "1") return true;  // stands for an absent tensor
  return first.text() == "0" || first.text() == "[0]" || first.text() == "(0,)";
}

// Whether a method or function returns Python numbers or NumPy arrays, or copies between devices.
bool is_harmless_method(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames{
      "item", "tolist", "numpy", "device", "dtype", "shape", "size", "numel", "dim"};
  return base::one_of(kNames, name);
}

bool is_harmless_call(const SemanticModel& model, Node call) {
  const std::string_view name = method_name(call);
  if (name == "append" || name == "extend" || name == "insert" || name == "update" ||
      name == "setdefault")
    return true;
  if (semantics::is_factory(model.called(call))) return true;  // a size
  static constexpr std::array<std::string_view, 18> kNames{"int",
                                                           "float",
                                                           "len",
                                                           "list",
                                                           "range",
                                                           "print",
                                                           "copy_",
                                                           "isinstance",
                                                           "tuple",
                                                           "pack_padded_sequence",
                                                           "record_function",
                                                           "bool",
                                                           "enumerate",
                                                           "to_device",
                                                           "zip",
                                                           "fill_",
                                                           "move_to",
                                                           "reshape_from_tensor_shape"};
  if (base::one_of(kNames, name)) return true;
  if (name.find("device") != std::string_view::npos) return true;
  const std::string& full = model.called(call);
  if (full.starts_with("numpy.") || full.starts_with("random.")) return true;
  return false;
}

enum class Use : std::uint8_t { kMeets, kHarmless, kMoved };

// Whether this is `lengths.max()` or the like: a tensor without dimensions, which goes with any
// device.
bool is_reduction(Node attribute) {
  static constexpr std::array<std::string_view, 5> kNames{"max", "min", "sum", "mean", "prod"};
  const Node call = attribute.parent();
  return base::one_of(kNames, attribute.child(Field::kAttributeName).text()) &&
         call.is(Kind::kCall) && syntax::arguments(call).empty();
}

class Uses {
 public:
  Uses(const SemanticModel& model, const TensorInputs& inputs) : model_(model), inputs_(inputs) {}

  // How an expression is used, from itself outwards to its statement, and then through the names
  // that it gets.
  [[nodiscard]] Use of(Node expression, int depth = 0) const;

 private:
  [[nodiscard]] Use of_names(const std::vector<Node>& targets, int depth) const;
  [[nodiscard]] bool meets_in_call(Node call, Node part) const;
  [[nodiscard]] bool meets_in_operator(Node operation, Node part) const;
  [[nodiscard]] bool is_layer(Node function) const;

  const SemanticModel& model_;
  const TensorInputs& inputs_;
};

// How names are used. A move anywhere counts for all uses, because a function that moves a tensor
// handles its device.
Use Uses::of_names(const std::vector<Node>& targets, int depth) const {
  bool meets = false;
  for (const Node target : targets) {
    for (const Node read : reads_of(model_, target)) {
      if (read.start() < target.start()) continue;
      const Use use = of(read, depth + 1);
      if (use == Use::kMoved) return use;
      meets |= use == Use::kMeets;
    }
  }
  return meets ? Use::kMeets : Use::kHarmless;
}

// Whether this is a layer (self.embedding, self.layers[i]), whose parameters are where the inputs
// are.
bool Uses::is_layer(Node function) const {
  if (function.is(Kind::kSubscript)) function = function.child(Field::kValue);
  return model_.value(function).is(Type::kModule);
}

// Whether the arguments of a tensor's method are sizes, whatever they were computed from.
bool takes_sizes(std::string_view method) {
  static constexpr std::array<std::string_view, 14> kNames{
      "view",    "reshape", "repeat",    "expand",  "unsqueeze", "squeeze", "permute",
      "flatten", "unfold",  "transpose", "resize_", "narrow",    "chunk",   "unflatten"};
  return base::one_of(kNames, method);
}

bool Uses::meets_in_call(Node call, Node part) const {
  const std::string& name = model_.called(call);
  const Node function = syntax::callee(call);
  // ctc_loss moves its targets and lengths by itself.
  if (base::lower(function.text()).find("ctc") != std::string::npos) return false;
  if (name.empty() && is_layer(function)) return true;
  const Node object = object_of(call);
  const bool method = object && name.empty() && object.text() != model_.self_name(call);
  if (!method && !name.starts_with("torch.")) return false;
  if (method && object.holds(part) && takes_sizes(method_name(call))) return false;
  if (method && !object.holds(part)) return inputs_.feed(model_, object);
  for (const syntax::Argument& argument : syntax::arguments(call)) {
    if (!argument.value.holds(part) && inputs_.feed(model_, argument.value)) return true;
    // torch.cat([x, part])
    for (const Node element :
         argument.value.holds(part) ? argument.value.children() : std::vector<Node>{}) {
      const bool list = argument.value.is_any(Kind::kList, Kind::kTuple);
      if (list && !element.holds(part) && inputs_.feed(model_, element)) return true;
    }
  }
  return false;
}

bool Uses::meets_in_operator(Node operation, Node part) const {
  for (Node side = operation.first_child(); side; side = side.next_sibling()) {
    if (!side.holds(part) && inputs_.feed(model_, side)) return true;
  }
  return false;
}

Use Uses::of(Node expression, int depth) const {
  if (is_moved_above(model_, expression)) return Use::kMoved;
  if (depth > kMaxDepth) return Use::kHarmless;
  for (Node node = expression;; node = node.parent()) {
    const Node parent = node.parent();
    if (!parent ||
        parent.is_any(Kind::kExpressionStatement, Kind::kBlock, Kind::kReturn, Kind::kFor,
                      Kind::kForIn, Kind::kLambda, Kind::kAssert, Kind::kIf, Kind::kWhile)) {
      return Use::kHarmless;
    }
    if (parent.is(Kind::kSubscript)) {
      // One element of a row is a number, which goes with any device, and an index may stay on the
      // CPU.
      if (node.field() == Field::kSubscriptPart ||
          parent.child(Field::kSubscriptPart).is(Kind::kInteger))
        return Use::kHarmless;
    } else if (parent.is(Kind::kListSplat)) {
      return Use::kHarmless;  // numbers: x.permute(*order)
    } else if (parent.is(Kind::kAttribute)) {
      if (is_reduction(parent)) return Use::kHarmless;
      if (is_harmless_method(parent.child(Field::kAttributeName).text())) return Use::kHarmless;
    } else if (parent.is(Kind::kArgumentList)) {
      if (is_harmless_call(model_, parent.parent())) return Use::kHarmless;
      if (meets_in_call(parent.parent(), node)) return Use::kMeets;
      const std::string& name = model_.called(parent.parent());
      if (!name.starts_with("torch.") || name.find("nn.Parameter") != std::string::npos)
        return Use::kHarmless;
    } else if (parent.is(Kind::kCall) && node.field() == Field::kFunctionPart) {
      if (meets_in_call(parent, node)) return Use::kMeets;  // zeros.scatter_(1, target, 1)
    } else if (parent.is_any(Kind::kBinaryOperator, Kind::kComparison)) {
      if (meets_in_operator(parent, node)) return Use::kMeets;
    } else if (parent.is(Kind::kAugmentedAssignment)) {
      return meets_in_operator(parent, node) && !parent.child(Field::kLeft).is(Kind::kSubscript)
                 ? Use::kMeets
                 : Use::kHarmless;
    } else if (parent.is_any(Kind::kTuple, Kind::kExpressionList) &&
               parent.parent().is(Kind::kAssignment)) {
      return Use::kHarmless;  // initial values: `a, b = torch.zeros(1), None`
    } else if (parent.is(Kind::kAssignment)) {
      if (node.field() != Field::kRight || parent.child(Field::kLeft).is(Kind::kSubscript))
        return Use::kHarmless;
      return of_names(names_made_of(node), depth);
    }
  }
}

// Whether the other operand is an input, as in `scores + torch.zeros(3)`: then this raises, or the
// new tensor belongs to that device.
bool stands_beside_input(const SemanticModel& model, Node call, const TensorInputs& inputs) {
  const Node top = chain_top(call);
  const Node parent = top.parent();
  if (!parent.is(Kind::kBinaryOperator)) return false;
  const Node other =
      parent.child(Field::kLeft) == top ? parent.child(Field::kRight) : parent.child(Field::kLeft);
  return other.is(Kind::kIdentifier) && inputs.is_input(model, other);
}

// Whether the call converts the input itself: `if isinstance(x, np.ndarray): x =
// torch.from_numpy(x)`.
bool converts_input(const SemanticModel& model, Node call, const TensorInputs& inputs) {
  const std::string& name = model.called(call);
  if (name != "torch.from_numpy" && !is_legacy_constructor(name)) return false;
  const Node first = syntax::positional(call, 0);
  for (std::uint32_t i = first.index(); first && i < first.subtree_end(); ++i) {
    const Node node = model.tree().at(i);
    if (node.is(Kind::kIdentifier) && !node.parent().is(Kind::kAttribute) &&
        inputs.knows(node.text()))
      return true;
  }
  return false;
}

// Whether the call makes lengths or counts, which stay on the CPU for packing and for loops.
bool holds_lengths(Node call) {
  for (const Node target : names_made_of(call)) {
    if (target.text().find("len") != std::string_view::npos) return true;
  }
  return false;
}

// Whether the function prepares data, by the names of its file and its folders. Layers do not.
bool prepares_data(const PythonContext& context, Node function) {
  const semantics::ClassFacts* facts = context.model.enclosing_class(function);
  if (facts != nullptr && facts->is_module) return false;
  static constexpr std::array<std::string_view, 8> kNames{
      "data",        "dataset",     "datasets",   "dataloader",
      "dataloaders", "dataparsers", "transforms", "augmentations"};
  std::string_view path = context.path;
  if (path.ends_with(".py")) path.remove_suffix(3);
  for (const std::string_view part : base::split(path, '/'))
    if (base::one_of(kNames, part)) return true;
  return false;
}

Fix make_fix(const PythonContext& context, Node call, const TensorInputs& inputs) {
  Fix fix;
  std::string device = inputs.device_for(context, call);
  if (device.empty()) {
    fix.title = "make it on the device of the inputs";
    return fix;
  }
  const bool plain = semantics::is_factory(context.model.called(call));
  const bool safe = plain && !is_random(context.model, call) && device.ends_with(".device") &&
                    stands_beside_input(context.model, call, inputs);
  fix.applicability = safe ? Applicability::kSafe : Applicability::kUnsafe;
  fix.title = plain ? fmt::format("make it there: device={}", device)
                    : fmt::format("move it: .to({})", device);
  if (plain)
    fix.edits = {add_argument(call, fmt::format("device={}", device))};
  else
    fix.edits = {insert_after(call, fmt::format(".to({})", device))};
  return fix;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  if (context.is_test() || !makes_cpu_tensor(model, call) || holds_numbers_only(model, call) ||
      holds_lengths(call) || is_in_cpu_class(model, call))
    return;
  const Node function = syntax::function_of(call);
  if (prepares_data(context, function)) return;
  const TensorInputs inputs = TensorInputs::of(model, function);
  if (!inputs || Uses(model, inputs).of(call) != Use::kMeets) return;
  if (converts_input(model, call, inputs)) return;
  Finding& finding = reporter.report(
      syntax::callee(call),
      fmt::format("This makes the tensor on the CPU; with `{}` on another device it raises "
                  "\"Expected all tensors to be on the same "
                  "device\".",
                  inputs.any()));
  finding.fix.push_back(make_fix(context, call, inputs));
  finding.unless.push_back(
      {flow::Condition::Kind::kFedFromCpu, flow::name_of(function), inputs.parameters()});
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::factory_without_device
