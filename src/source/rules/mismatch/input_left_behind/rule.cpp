// TP207: a model that was moved gets a tensor that stayed on the CPU.
#include "source/rules/rule.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/mismatch/common/forward_inputs.h"
#include "source/rules/module_place.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP207",
    .name = "input-left-behind",
    .family = "mismatch",
    .severity = Severity::kError,
    .summary = "a model that was moved gets a tensor that stayed on the CPU",
    .on_accelerators = true,
};

// The name or factory call that an argument comes from: `x` in `x.float()[0]`.
Node base_of(Node argument) {
  for (;;) {
    argument = syntax::unwrap(argument);
    if (argument.is(Kind::kSubscript)) {
      argument = argument.child(Field::kValue);
    } else if (argument.is(Kind::kCall) && object_of(argument) &&
               semantics::keeps_device(method_name(argument))) {
      argument = object_of(argument);
    } else {
      return argument;
    }
  }
}

// The loop over a loader of the CPU that alone binds the name; invalid if there is none.
Node batch_loop(const SemanticModel& model, Node name) {
  if (!name.is(Kind::kIdentifier)) return {};
  const auto bindings = model.scopes().reaching(name.text(), name);
  if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kFor) return {};
  Node loop = bindings.front()->target;
  while (loop && !loop.is(Kind::kFor)) loop = loop.parent();
  if (!loop || !loop.holds(name)) return {};
  return yields_cpu_batches(model, loop.child(Field::kRight)) ? loop : Node{};
}

// Whether the expression is a tensor of some size that a factory made on the CPU.
bool is_made_on_cpu(const SemanticModel& model, Node argument) {
  const Value value = model.value(argument);
  if (!value.is(Type::kTensor) || value.device_state != DeviceState::kCpu) return false;
  const Node made = value.origin;
  if (!made.is(Kind::kCall) || semantics::knowledge_at(model, made)) return false;
  const std::string& name = model.called(made);
  if (name == "torch.tensor" || name == "torch.as_tensor")
    return syntax::positional(made, 0).is_any(Kind::kList, Kind::kListComprehension);
  return semantics::is_factory(name) && !syntax::has_splat(made);
}

// Whether a move of the model comes before the call, or in another function.
bool is_moved_before(const SemanticModel& model, const ValueHistory& trace, Node call) {
  const auto moves = module_moves(model, trace);
  return std::any_of(moves.begin(), moves.end(), [&](Node move) {
    return move.start() < call.start() || syntax::function_of(move) != syntax::function_of(call);
  });
}

// The device to move to: the one that the model went to, if it can be written here.
edit::DeviceRef target_device(const PythonContext& context, const ValueHistory& trace, Node call) {
  edit::DeviceRef here = context.devices.at(call);
  for (const Node move : module_moves(context.model, trace)) {
    if (method_name(move) == "cuda") continue;
    const Node device = syntax::argument(move, 0, "device");
    if (device.text() == here.text) continue;
    if (syntax::function_of(move) != syntax::function_of(call) || !is_primary(device)) return {};
    return {std::string(device.text())};
  }
  return here;
}

// Whether a tensor is combined with others here, which are on the device of the model by then: a
// loss of it, a comparison with the predictions, arithmetic.
bool meets_outputs(const SemanticModel& model, Node read) {
  const Node parent = chain_top(read).parent();
  if (parent.is_any(Kind::kComparison, Kind::kBinaryOperator)) return true;
  if (!parent.is(Kind::kArgumentList)) return false;
  const Node call = parent.parent();
  if (model.called(call).starts_with("torch.")) return true;
  const std::string name = base::lower(method_name(call));
  for (const std::string_view word : {"loss", "criterion", "cross_entropy"})
    if (name.find(word) != std::string::npos) return true;
  return name == "eq" || name == "ne";
}

// The names of the loop's target that go into the model or meet its outputs, in the order of the
// target. Nothing if one of them is also used where only the CPU will do.
std::vector<Node> names_to_move(const SemanticModel& model, Node loop, Node fed) {
  std::vector<Node> names;
  const Node target = loop.child(Field::kLeft);
  for (std::uint32_t i = target.index(); i < target.subtree_end(); ++i) {
    const Node name = model.tree().at(i);
    if (!name.is(Kind::kIdentifier)) continue;
    bool wanted = name.text() == fed.text();
    for (const Node read : model.named(name.text(), loop.child(Field::kBody))) {
      const Node parent = read.parent();
      if (parent.is(Kind::kAttribute) && read.field() == Field::kObject &&
          parent.child(Field::kAttributeName).text() == "numpy")
        return {};
      if (read.field() == Field::kLeft && parent.is(Kind::kAssignment)) return {};
      wanted |= meets_outputs(model, read);
    }
    if (wanted) names.push_back(name);
  }
  return names;
}

Fix loop_fix(const PythonContext& context, Node loop, Node fed, const edit::DeviceRef& device) {
  Fix fix;
  fix.title = "move the batch to the device of the model in each step";
  const Node first = loop.child(Field::kBody).first_child();
  if (device.text.empty() || fed.parent().is(Kind::kSubscript) || !stands_alone(first)) return fix;
  const auto names = names_to_move(context.model, loop, fed);
  if (names.empty()) return fix;
  std::string left;
  std::string right;
  for (const Node name : names) {
    const std::string_view comma = left.empty() ? "" : ", ";
    left += fmt::format("{}{}", comma, name.text());
    right += fmt::format("{}{}.to({})", comma, name.text(), device.text);
  }
  fix.applicability = Applicability::kUnsafe;
  fix.needs.module_device = device.module_device;
  fix.edits = {line_before(first, fmt::format("{} = {}", left, right))};
  return fix;
}

Fix argument_fix(Node argument, const edit::DeviceRef& device) {
  Fix fix;
  fix.title = "make it on the device of the model";
  if (device.text.empty() || !is_primary(argument)) return fix;
  fix.title = fmt::format("move it: .to({})", device.text);
  fix.applicability = Applicability::kUnsafe;
  fix.needs.module_device = device.module_device;
  fix.edits = {insert_after(argument, fmt::format(".to({})", device.text))};
  return fix;
}

class Inputs {
 public:
  Inputs(const PythonContext& context, Reporter& reporter)
      : context_(context), model_(context.model), reporter_(reporter) {}

  void check(Node call) {
    const Node callee = syntax::callee(call);
    if (!callee.is_any(Kind::kIdentifier, Kind::kAttribute) || !model_.qualified(callee).empty())
      return;
    const std::vector<syntax::Argument> arguments = syntax::arguments(call);
    const bool any = std::any_of(arguments.begin(), arguments.end(), [&](const auto& argument) {
      return base_of(argument.value).is_any(Kind::kIdentifier, Kind::kCall);
    });
    if (!any || !may_be_module(callee)) return;
    const ValueHistory trace = trace_value(model_, callee);
    if (module_place(model_, trace) != Place::kElsewhere || !keeps_inputs(model_, trace) ||
        semantics::knowledge_at(model_, call) || !is_moved_before(model_, trace, call) ||
        has_device_manager(model_))
      return;
    for (const syntax::Argument& argument : arguments) check_argument(call, argument.value, trace);
  }

 private:
  [[nodiscard]] bool may_be_module(Node callee) const {
    const Value value = model_.value(callee);
    return value.is(Type::kModule) || (value.is(Type::kUnknown) && callee.is(Kind::kIdentifier) &&
                                       !model_.function_named(callee.text(), callee) &&
                                       model_.class_named(callee.text()) == nullptr);
  }

  void check_argument(Node call, Node argument, const ValueHistory& trace) {
    const Node base = base_of(argument);
    if (const Node loop = batch_loop(model_, base)) {
      if (!reported_.insert({loop.index(), base.text()}).second) return;
      reporter_
          .report(argument, fmt::format("`{}` comes from a DataLoader, which makes its batches on "
                                        "the CPU, and the model was moved: the call raises "
                                        "\"Expected all tensors to be on the same device\".",
                                        base.text()))
          .fix.push_back(loop_fix(context_, loop, base, target_device(context_, trace, call)));
    } else if (is_made_on_cpu(model_, argument)) {
      reporter_
          .report(argument,
                  "This tensor is made on the CPU, and the model was moved: the call raises "
                  "\"Expected all tensors to be on the same device\".")
          .fix.push_back(argument_fix(argument, target_device(context_, trace, call)));
    }
  }

  const PythonContext& context_;
  const SemanticModel& model_;
  Reporter& reporter_;
  std::set<std::pair<std::uint32_t, std::string_view>> reported_;  // loop and name
};

void check(const PythonContext& context, Node, Reporter& reporter) {
  const SemanticModel& model = context.model;
  if (context.is_test() || !model.imports_torch() || !moves_things(model)) return;
  Inputs inputs(context, reporter);
  for (const Node call : model.nodes(Kind::kCall)) inputs.check(call);
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kModule}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules
