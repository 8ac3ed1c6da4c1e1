#include "source/rules/mismatch/input_left_behind/left_parts.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "source/rules/edits.h"
#include "source/rules/tensors.h"
#include "source/rules/value_history.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

constexpr int kMaxMoveSteps = 8;  // names and methods between a value and its move

bool names_a_loss(std::string_view name) {
  const std::string lower = base::lower(name);
  return lower.find("loss") != std::string::npos || lower.find("crit") != std::string::npos;
}

// Whether all that the callee may be are losses of torch.nn that want everything on one device.
bool is_torch_loss(const SemanticModel& model, Node callee) {
  const ValueHistory trace = trace_value(model, callee);
  return !trace.open && !trace.origins.empty() &&
         std::all_of(trace.origins.begin(), trace.origins.end(), [&](Node origin) {
           const std::string& name = model.called(origin);
           return name.starts_with("torch.nn.") && name.ends_with("Loss") &&
                  name != "torch.nn.CTCLoss";
         });
}

// Whether a function of torch raises if its arguments are on different devices.
bool wants_one_device(std::string_view name) {
  constexpr std::string_view kFunctional = "torch.nn.functional.";
  static constexpr std::array<std::string_view, 8> kOthers{
      "torch.eq",  "torch.ne",  "torch.mul",   "torch.sub",
      "torch.add", "torch.div", "torch.where", "torch.cosine_similarity"};
  if (!name.starts_with(kFunctional)) return base::one_of(kOthers, name);
  const std::string_view last = name.substr(kFunctional.size());
  if (last == "ctc_loss") return false;  // its lengths, and targets for cuDNN, may be on the CPU
  return last.ends_with("_loss") || last.find("cross_entropy") != std::string_view::npos ||
         last == "kl_div" || last == "cosine_similarity" || last == "pairwise_distance";
}

// Whether a comparison compares tensors: not `is`, `in`, and not `a < b < c`.
bool compares_values(Node comparison) {
  const auto parts = comparison.children();
  return parts.size() == 3 && parts[1].text().find_first_of("=<>") != std::string_view::npos;
}

class LeftPartFinder {
 public:
  LeftPartFinder(const SemanticModel& model, BatchValues& values,
                 const std::function<void(const LeftPart&)>& found)
      : model_(model), values_(values), found_(found) {}

  void run() {
    for (const Node loop : loops_with_moves()) {
      for (const Node call : model_.nodes(Kind::kCall, loop)) check_call(call);
      for (const Node node : model_.nodes(Kind::kComparison, loop))
        if (compares_values(node)) meet(node.children());
      for (const Node node : model_.nodes(Kind::kBinaryOperator, loop)) meet(node.children());
    }
  }

 private:
  // The outermost loops whose bodies move something.
  [[nodiscard]] std::vector<Node> loops_with_moves() const {
    std::vector<Node> loops;
    for (const Node move : moves_in(model_)) {
      Node outermost;
      for (Node at = move.ancestor(Kind::kFor); at; at = at.ancestor(Kind::kFor)) outermost = at;
      if (outermost && std::find(loops.begin(), loops.end(), outermost) == loops.end())
        loops.push_back(outermost);
    }
    return loops;
  }

  void check_call(Node call) {
    const std::vector<syntax::Argument> arguments = syntax::arguments(call);
    if (arguments.empty()) return;
    std::vector<Node> operands;
    for (const syntax::Argument& argument : arguments) operands.push_back(argument.value);
    const std::string& name = model_.called(call);
    if (name.starts_with("torch.")) {
      if (wants_one_device(name)) meet(operands);
      return;
    }
    const Node callee = syntax::callee(call);
    const std::string_view method = method_name(call);
    static constexpr std::array<std::string_view, 7> kMethods{"eq",  "ne",  "sub",   "add",
                                                              "mul", "div", "gather"};
    if (object_of(call) && base::one_of(kMethods, method)) {
      operands.push_back(object_of(call));
      return meet(operands);
    }
    // nn.CrossEntropyLoss()(out, y), or a name of one.
    if (operands.size() < 2 || !(callee.is(Kind::kCall) || values_.may_be_model(callee))) return;
    if (!any_output(operands)) return;
    if (is_torch_loss(model_, callee)) return meet(operands);
    if (!names_a_loss(method)) return;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (values_.of(operands[i]).is(BatchPlace::kLeft) && arguments[i].keyword.empty() &&
          fed_moved_elsewhere(model_, call, i))
        meet(operands);
    }
  }

  bool any_output(const std::vector<Node>& operands) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](Node operand) { return values_.of(operand).is(BatchPlace::kOutput); });
  }

  void meet(const std::vector<Node>& operands) {
    BatchValue output;
    for (const Node operand : operands) {
      const BatchValue value = values_.of(operand);
      if (value.is(BatchPlace::kOutput)) output = value;
    }
    if (!output.is(BatchPlace::kOutput)) return;
    for (const Node operand : operands) {
      const BatchValue value = values_.of(operand);
      if (value.is(BatchPlace::kLeft) && value.loop == output.loop)
        found_({operand, value, output.move});
    }
  }

  const SemanticModel& model_;
  BatchValues& values_;
  const std::function<void(const LeftPart&)>& found_;
};

bool is_move_elsewhere(const SemanticModel& model, Node call) {
  if (!call.is(Kind::kCall)) return false;
  if (is_cuda_move(model, call)) return true;
  if (method_name(call) != "to" || !is_move(model, call)) return false;
  const Node device = syntax::argument(call, 0, "device");
  const Value value = model.value(device);
  return device && value.device_state != DeviceState::kCpu &&
         !(value.is(Type::kString) && value.text == "cpu");
}

}  // namespace

void find_left_parts(const SemanticModel& model, BatchValues& values,
                     const std::function<void(const LeftPart&)>& found) {
  LeftPartFinder(model, values, found).run();
}

bool is_moved_value(const SemanticModel& model, Node expression) {
  for (int steps = 0; steps < kMaxMoveSteps; ++steps) {
    expression = syntax::unwrap(expression);
    if (expression.is(Kind::kCall)) {
      if (is_move_elsewhere(model, expression)) return true;
      const std::string_view method = method_name(expression);
      if (model.called(expression) == "torch.autograd.Variable")
        expression = syntax::positional(expression, 0);
      else if (object_of(expression) && (semantics::keeps_device(method) || method == "to"))
        expression = object_of(expression);
      else
        return false;
    } else if (expression.is(Kind::kIdentifier)) {
      // The closest binding decides; the moved one of several, if some only move it with CUDA.
      Node next;
      for (const auto* binding : model.scopes().reaching(expression.text(), expression)) {
        if (binding->kind != semantics::BindingKind::kAssign || binding->unpacked) continue;
        if (is_move_elsewhere(model, syntax::unwrap(binding->value))) return true;
        if (!next) next = binding->value;
      }
      expression = next;
    } else {
      return false;
    }
  }
  return false;
}

Node fed_moved_elsewhere(const SemanticModel& model, Node call, std::size_t position) {
  const Node callee = syntax::callee(call);
  for (const Node other : model.calls_of(method_name(call))) {
    if (other == call || syntax::callee(other).text() != callee.text()) continue;
    if (callee.is(Kind::kAttribute) && syntax::class_of(other) != syntax::class_of(call)) continue;
    const Node given = syntax::positional(other, position);
    if (is_moved_value(model, given)) return given;
  }
  return {};
}

}  // namespace torchport::rules
