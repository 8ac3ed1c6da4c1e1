// TP203: loss weights that stay on the CPU.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "source/rules/edits.h"
#include "source/rules/mismatch/common/inputs.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP203",
    .name = "loss-weight-device",
    .family = "mismatch",
    .severity = Severity::kError,
    .summary = "the weights of a loss stay on the CPU while the logits are on a device",
    .on_accelerators = true,
};

constexpr std::array<std::string_view, 6> kCriteria{
    "torch.nn.CrossEntropyLoss", "torch.nn.NLLLoss",           "torch.nn.NLLLoss2d",
    "torch.nn.BCELoss",          "torch.nn.BCEWithLogitsLoss", "torch.nn.MultiLabelSoftMarginLoss"};
constexpr std::array<std::string_view, 4> kFunctions{
    "torch.nn.functional.cross_entropy", "torch.nn.functional.nll_loss",
    "torch.nn.functional.binary_cross_entropy",
    "torch.nn.functional.binary_cross_entropy_with_logits"};

// Whether the tensor has no dimensions, such as torch.tensor(2.0), and so goes with any device.
bool is_number(const SemanticModel& model, Node made) {
  const Node first = syntax::positional(made, 0);
  return model.called(made) == "torch.tensor" &&
         !first.is_any(Kind::kList, Kind::kTuple, Kind::kListComprehension) &&
         !model.value(first).is(Type::kContainer) && !model.value(first).is(Type::kNumpy);
}

bool is_moved_read(const SemanticModel& model, Node read) {
  const Node call = read.parent().parent();
  return read.parent().is(Kind::kAttribute) && call.is(Kind::kCall) && is_move(model, call);
}

// Whether the criterion may be moved later: by `criterion.to(device)`, or with a module that holds
// it. If it is passed on, that is unknown.
bool may_move_later(const SemanticModel& model, Node call) {
  if (is_moved_above(model, call)) return true;
  const Node parent = call.parent();
  if (parent.is(Kind::kCall)) return false;  // used directly: nn.CrossEntropyLoss(weight=w)(x, y)
  if (!parent.is(Kind::kAssignment)) return true;
  const Node left = parent.child(Field::kLeft);
  if (left.is(Kind::kIdentifier)) {
    const auto reads = reads_of(model, left);
    return std::any_of(reads.begin(), reads.end(), [&](Node read) {
      return is_moved_read(model, read) || !read.parent().is(Kind::kCall);
    });
  }
  const semantics::ClassFacts* facts = model.enclosing_class(call);
  if (!left.is(Kind::kAttribute) || facts == nullptr || facts->is_module || !facts->bases.empty())
    return true;
  const auto reads = reads_of_attribute(model, *facts, left.child(Field::kAttributeName).text());
  return reads.empty() || std::any_of(reads.begin(), reads.end(), [&](Node read) {
           return is_moved_read(model, read) || !read.parent().is(Kind::kCall);
         });
}

Fix make_fix(const PythonContext& context, Node call, Node weight) {
  const edit::DeviceRef device = context.devices.at(call);
  Fix fix;
  fix.applicability = Applicability::kUnsafe;
  fix.needs.module_device = device.module_device;
  fix.title = fmt::format("move it: .to({})", device.text);
  const bool factory =
      weight.is(Kind::kCall) && semantics::is_factory(context.model.called(weight));
  if (factory)
    fix.edits = {add_argument(weight, fmt::format("device={}", device.text))};
  else
    fix.edits = {insert_after(weight, fmt::format(".to({})", device.text))};
  return fix;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const std::string& name = model.called(call);
  const bool criterion = base::one_of(kCriteria, name);
  if ((!criterion && !base::one_of(kFunctions, name)) || context.is_test() ||
      is_in_cpu_class(model, call))
    return;
  for (const syntax::Argument& argument : syntax::arguments(call)) {
    const bool first =
        criterion && argument.keyword.empty() && argument.whole == syntax::positional(call, 0);
    if (argument.keyword != "weight" && argument.keyword != "pos_weight" && !first) continue;
    const Value value = model.value(argument.value);
    if (!value.is(Type::kTensor) || value.device_state != DeviceState::kCpu ||
        is_number(model, value.origin))
      continue;
    if (criterion ? may_move_later(model, call)
                  : bool(TensorInputs::of(model, syntax::function_of(call))))
      continue;
    if (!moves_things(model)) continue;
    Finding& finding = reporter.report(argument.value,
                                       "The weights are on the CPU and nothing moves them; with "
                                       "the logits on a device the loss raises "
                                       "\"Expected all tensors to be on the same device\".");
    if (argument.value.is_any(Kind::kIdentifier, Kind::kCall, Kind::kAttribute))
      finding.fix.push_back(make_fix(context, call, argument.value));
  }
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules
