#include "source/rules/placement/common/build_test.h"

#include <fmt/format.h>

#include "source/rules/edits.h"

namespace torchport::rules {

namespace {

// The test of the build in a condition, alone or as a part of `and`.
Node build_test_in(const SemanticModel& model, Node condition) {
  condition = syntax::unwrap(condition);
  if (condition.is(Kind::kCall))
    return model.called(condition) == "torch.backends.cuda.is_built" ? condition : Node{};
  if (condition.is_any(Kind::kAttribute, Kind::kIdentifier))
    return model.qualified(condition) == "torch.has_cuda" ? condition : Node{};
  if (!condition.is(Kind::kBooleanOperator) || condition.child(Field::kOperator).text() != "and")
    return {};
  const Node left = build_test_in(model, condition.child(Field::kLeft));
  return left ? left : build_test_in(model, condition.child(Field::kRight));
}

}  // namespace

Node build_test_around(const SemanticModel& model, Node node) {
  for (Node parent = node.parent(); parent && !parent.is_any(Kind::kFunction, Kind::kClass);
       node = parent, parent = parent.parent()) {
    Node condition;
    if (parent.is_any(Kind::kIf, Kind::kElif) && node.field() == Field::kConsequence)
      condition = parent.child(Field::kCondition);
    if (parent.is(Kind::kConditional)) {
      const auto parts = parent.children();
      if (parts.size() == 3 && parts[0] == node) condition = parts[1];
    }
    const Node test = condition ? build_test_in(model, condition) : Node{};
    if (test) return test;
  }
  return {};
}

std::string message_of_build_test(Node test) {
  return fmt::format(
      "`{}` says what torch was compiled for, not whether there is a GPU: with a CUDA build on a "
      "machine without one this raises \"No CUDA GPUs are available\" or \"Found no NVIDIA "
      "driver\".",
      test.text());
}

Fix fix_of_build_test(const PythonContext& context, Node test) {
  const std::string asked = fmt::format("{}.cuda.is_available()", context.devices.torch_name());
  Fix fix;
  fix.applicability = Applicability::kSafe;
  fix.title = fmt::format("ask whether there is a GPU: `{}`", asked);
  fix.edits = {replace(test, asked)};
  fix.needs.imports = {"import torch"};
  return fix;
}

}  // namespace torchport::rules
