#include "source/rules/mismatch/input_left_behind/loop_fix.h"

#include <fmt/format.h>

#include "base/text.h"
#include "source/rules/edits.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

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

// Whether the loop's body needs the name on the CPU, or binds it again.
bool may_not_move(const SemanticModel& model, Node loop, Node name) {
  for (const Node read : model.named(name.text(), loop.child(Field::kBody))) {
    const Node parent = read.parent();
    if (parent.is(Kind::kAttribute) && read.field() == Field::kObject &&
        parent.child(Field::kAttributeName).text() == "numpy")
      return true;
    if (read.field() == Field::kLeft && parent.is(Kind::kAssignment)) return true;
  }
  return false;
}

}  // namespace

std::vector<Node> names_to_move(const SemanticModel& model, Node loop, Node fed) {
  std::vector<Node> names;
  const Node target = loop.child(Field::kLeft);
  if (!target.holds(fed) || !fed.is(Kind::kIdentifier)) return {};
  for (std::uint32_t i = target.index(); i < target.subtree_end(); ++i) {
    const Node name = model.tree().at(i);
    if (!name.is(Kind::kIdentifier)) continue;
    if (may_not_move(model, loop, name)) return {};
    bool wanted = name.text() == fed.text();
    for (const Node read : model.named(name.text(), loop.child(Field::kBody)))
      wanted |= meets_outputs(model, read);
    if (wanted) names.push_back(name);
  }
  return names;
}

std::vector<Node> name_to_move(const SemanticModel& model, Node loop, Node name) {
  const bool own = loop.child(Field::kLeft).holds(name) && name.is(Kind::kIdentifier);
  if (!own || may_not_move(model, loop, name)) return {};
  return {name};
}

Fix loop_fix(Node loop, const std::vector<Node>& names, const edit::DeviceRef& device) {
  Fix fix;
  fix.title = "move the batch to the device of the model in each step";
  const Node first = loop.child(Field::kBody).first_child();
  if (device.text.empty() || names.empty() || !stands_alone(first)) return fix;
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

}  // namespace torchport::rules
