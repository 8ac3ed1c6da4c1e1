// TP107: tests of a device that give a wrong answer: a torch.device compared with a string, and
// moves that happen only for CUDA.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"

namespace torchport::rules::cuda_only_comparison {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP107",
    .name = "cuda-only-comparison",
    .family = "placement",
    .severity = Severity::kWarning,
    .summary = "a test of the device that is never true, or leaves out other devices",
};

// Whether the node is certainly a torch.device: the result of torch.device(...), annotated as one,
// or the device of a tensor.
bool is_device_object(const SemanticModel& model, Node node, int depth = 0) {
  node = syntax::unwrap(node);
  if (!node || depth > 4) return false;
  if (node.is(Kind::kCall)) return model.called(node) == "torch.device";
  if (node.is(Kind::kConditional)) {
    const auto parts = node.children();
    return parts.size() == 3 && is_device_object(model, parts[0], depth + 1) &&
           is_device_object(model, parts[2], depth + 1);
  }
  if (node.is(Kind::kIdentifier)) {
    const auto bindings = model.scopes().reaching(node.text(), node);
    return !bindings.empty() && std::all_of(bindings.begin(), bindings.end(), [&](const auto* b) {
      if (b->unpacked) return false;
      if (b->kind == semantics::BindingKind::kAssign)
        return is_device_object(model, b->value, depth + 1);
      return b->kind == semantics::BindingKind::kParameter && !b->value &&
             model.qualified(b->annotation.first_child()) == "torch.device";
    });
  }
  if (!node.is(Kind::kAttribute)) return false;
  const Node object = node.child(Field::kObject);
  const std::string_view name = node.child(Field::kAttributeName).text();
  if (object.text() == model.self_name(node)) {
    const semantics::ClassFacts* facts = model.enclosing_class(node);
    if (facts == nullptr || facts->methods.contains(name)) return false;
    const auto found = facts->attributes.find(name);
    if (found == facts->attributes.end()) return false;
    return std::all_of(found->second.begin(), found->second.end(), [&](const auto& attribute) {
      return is_device_object(model, attribute.value, depth + 1);
    });
  }
  return name == "device" && model.value(object).is(Type::kTensor);
}

void check_comparison(const PythonContext& context, Node comparison, Reporter& reporter) {
  const auto parts = comparison.children();
  if (parts.size() != 3 || (parts[1].text() != "==" && parts[1].text() != "!=")) return;
  for (const auto& [device, word] :
       {std::pair{parts[0], parts[2]}, std::pair{parts[2], parts[0]}}) {
    std::string text;
    if (!syntax::string_value(word, text) || !semantics::is_device_string(text)) continue;
    if (!is_device_object(context.model, device)) continue;
    Finding& finding = reporter.report(
        comparison, fmt::format("A torch.device never equals a string: this is always {}.",
                                parts[1].text() == "==" ? "False" : "True"));
    Fix fix;
    fix.applicability = is_primary(device) ? Applicability::kUnsafe : Applicability::kDisplay;
    if (text.find(':') == std::string::npos) {
      fix.title = fmt::format("compare its type: `{}.type`", device.text());
      fix.edits = {insert_after(device, ".type")};
    } else {
      const std::string& torch = context.devices.torch_name();
      fix.title = fmt::format("compare with `{}.device({})`", torch, word.text());
      fix.edits = {replace(word, fmt::format("{}.device({})", torch, word.text()))};
      fix.needs.imports = {"import torch"};
    }
    finding.fix.push_back(std::move(fix));
    return;
  }
}

// The tensor `t` in `t.is_cuda` or `t.device.type == "cuda"`.
Node tensor_asked(Node condition) {
  condition = syntax::unwrap(condition);
  if (condition.is(Kind::kAttribute) &&
      condition.child(Field::kAttributeName).text() == "is_cuda") {
    return condition.child(Field::kObject);
  }
  const auto parts = condition.is(Kind::kComparison) ? condition.children() : std::vector<Node>{};
  std::string text;
  if (parts.size() != 3 || parts[1].text() != "==" || !syntax::string_value(parts[2], text) ||
      text != "cuda" || !parts[0].text().ends_with(".device.type")) {
    return {};
  }
  return parts[0].child(Field::kObject).child(Field::kObject);
}

// Whether a value is certainly on the device of a tensor: made with `device=t.device`, by a helper
// that gets t.device, or from what is there.
class SameDevice {
 public:
  SameDevice(const SemanticModel& model, Node tensor)
      : model_(model), tensor_(tensor.text()), device_(tensor_ + ".device") {}

  [[nodiscard]] bool holds(Node value, int depth = 0) const {
    value = syntax::unwrap(value);
    if (!value || depth > kMaxDepth || ++steps_ > kMaxSteps) return false;
    if (value.is(Kind::kIdentifier)) return value.text() == tensor_ || holds_name(value, depth);
    if (value.is(Kind::kCall)) return holds_call(value, depth);
    if (value.is(Kind::kBinaryOperator))
      return holds(value.child(Field::kLeft), depth + 1) ||
             holds(value.child(Field::kRight), depth + 1);
    return value.is(Kind::kSubscript) && holds(value.child(Field::kValue), depth + 1);
  }

 private:
  static constexpr int kMaxDepth = 8;
  static constexpr int kMaxSteps = 200;

  [[nodiscard]] bool holds_name(Node name, int depth) const {
    const auto bindings = model_.scopes().reaching(name.text(), name);
    return !bindings.empty() && std::all_of(bindings.begin(), bindings.end(), [&](const auto* b) {
      return b->kind == semantics::BindingKind::kAssign && !b->unpacked && !b->value.holds(name) &&
             holds(b->value, depth + 1);
    });
  }

  [[nodiscard]] bool holds_call(Node call, int depth) const {
    const auto arguments = syntax::arguments(call);
    if (std::any_of(arguments.begin(), arguments.end(),
                    [&](const auto& argument) { return argument.value.text() == device_; }))
      return true;
    const std::string& name = model_.called(call);
    if (name.empty())
      return semantics::keeps_device(method_name(call)) && object_of(call) &&
             holds(object_of(call), depth + 1);
    if (!name.starts_with("torch.")) return false;
    if (name.ends_with("_like")) return holds(syntax::positional(call, 0), depth + 1);
    if (semantics::is_factory(name)) return false;
    // torch.cat((a, b)), torch.sin(a): all tensors of a call are on one device.
    return std::any_of(arguments.begin(), arguments.end(), [&](const auto& argument) {
      const Node value = argument.value;
      if (!value.is_any(Kind::kList, Kind::kTuple)) return holds(value, depth + 1);
      const auto elements = value.children();
      return std::any_of(elements.begin(), elements.end(),
                         [&](Node element) { return holds(element, depth + 1); });
    });
  }

  const SemanticModel& model_;
  std::string tensor_;
  std::string device_;
  mutable int steps_ = 0;
};

// Checks `if t.is_cuda: y = y.cuda()`, which moves y to t's device only if that is CUDA.
void check_if(const PythonContext& context, Node statement, Reporter& reporter) {
  if (statement.child(Field::kAlternative)) return;
  const Node condition = statement.child(Field::kCondition);
  const Node tensor = tensor_asked(condition);
  const Node body = statement.child(Field::kConsequence).first_child();
  if (!tensor || !is_primary(tensor) || !body || body.next_sibling()) return;
  const Node call = plain_assignment(body).child(Field::kRight);
  if (!call.is(Kind::kCall) || method_name(call) != "cuda" || !object_of(call)) return;
  if (object_of(call).text() == tensor.text() ||
      SameDevice(context.model, tensor).holds(object_of(call)))
    return;
  Finding& finding = reporter.report(
      condition,
      fmt::format("On another accelerator `{}` stays on the CPU, and the next operation with `{}` "
                  "raises \"Expected all tensors to be on the same device\".",
                  plain_assignment(body).child(Field::kLeft).text(), tensor.text()));
  Fix fix;
  fix.title = fmt::format("move it to `{}.device`", tensor.text());
  // `.cuda(x.device.index)` means the same.
  const std::string_view args = arguments_text(call);
  const bool same = args.empty() || args == std::string(tensor.text()) + ".device.index" ||
                    args == std::string(tensor.text()) + ".get_device()" ||
                    args == std::string(tensor.text()) + ".device";
  if (stands_alone(statement) && same && body.text().find('\n') == std::string_view::npos) {
    const std::string head(body.text().substr(0, method_span(call).start - body.start()));
    fix.applicability = Applicability::kUnsafe;
    fix.edits = {replace(statement, fmt::format("{}.to({}.device)", head, tensor.text()))};
  }
  finding.fix.push_back(std::move(fix));
}

// Whether an expression is passed as a device: `x.to(HERE)`, `torch.zeros(1, device=HERE)`.
bool is_device_argument(Node expression) {
  const Node parent = expression.parent();
  if (parent.is(Kind::kKeywordArgument)) return parent.child(Field::kName).text() == "device";
  return parent.is(Kind::kArgumentList) && method_name(parent.parent()) == "to" &&
         syntax::positional(parent.parent(), 0) == expression;
}

// The same for a name that an expression is bound to, if it is used for nothing else.
bool is_named_device(const SemanticModel& model, Node expression) {
  const Node assignment = expression.parent();
  const Node left = assignment.is(Kind::kAssignment) ? assignment.child(Field::kLeft) : Node{};
  if (!left.is(Kind::kIdentifier)) return false;
  const auto reads = reads_of(model, left);
  return !reads.empty() && std::all_of(reads.begin(), reads.end(), is_device_argument);
}

// Checks `"cuda" if t.is_cuda else "cpu"`, which is t's device only if that is CUDA or the CPU.
void check_conditional(const SemanticModel& model, Node conditional, Reporter& reporter) {
  const auto parts = conditional.children();
  std::string yes;
  std::string no;
  if (parts.size() != 3 || !syntax::string_value(parts[0], yes) ||
      !syntax::string_value(parts[2], no) || yes != "cuda" || no != "cpu")
    return;
  const Node tensor = tensor_asked(parts[1]);
  if (!tensor || !is_primary(tensor)) return;
  if (!is_device_argument(conditional) && !is_named_device(model, conditional)) return;
  Finding& finding = reporter.report(
      conditional,
      fmt::format("With `{0}` on another accelerator this is \"cpu\", and the next operation "
                  "with `{0}` raises \"Expected all tensors to be on the same "
                  "device\".",
                  tensor.text()));
  Fix fix;
  fix.applicability = Applicability::kUnsafe;
  fix.title = fmt::format("use `{}.device`", tensor.text());
  fix.edits = {replace(conditional, fmt::format("{}.device", tensor.text()))};
  finding.fix.push_back(std::move(fix));
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (node.is(Kind::kConditional)) check_conditional(context.model, node, reporter);
  if (node.is(Kind::kComparison)) check_comparison(context, node, reporter);
  if (node.is(Kind::kIf)) check_if(context, node, reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kComparison, Kind::kIf, Kind::kConditional},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_only_comparison
