// TP112: `if torch.cuda.is_available:`, which asks nothing.
#include "source/rules/rule.h"

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/semantics/guards.h"

namespace torchport::rules::uncalled_test {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP112",
    .name = "uncalled-test",
    .family = "placement",
    .severity = Severity::kError,
    .summary = "a test for a device is named and not called, so it is always true",
};

// Whether a node decides something by its truth.
bool is_condition(Node node) {
  for (Node up = node; up.parent(); up = up.parent()) {
    const Node parent = up.parent();
    switch (parent.kind()) {
      case Kind::kNotOperator:
        return true;
      case Kind::kIf:
      case Kind::kElif:
      case Kind::kWhile:
        return up.field() == Field::kCondition;
      case Kind::kConditional: {
        const auto parts = parent.children();
        return parts.size() == 3 && parts[1] == up;
      }
      case Kind::kAssert:
        return parent.first_child() == up;
      case Kind::kIfClause:
        return true;
      case Kind::kBooleanOperator:
        if (up.field() == Field::kLeft) return true;
        continue;
      case Kind::kParenthesized:
        continue;
      default:
        return false;
    }
  }
  return false;
}

void check(const PythonContext& context, Node name, Reporter& reporter) {
  if (!is_condition(name) || !semantics::is_uncalled_test(context.model, name)) return;
  Fix fix{Applicability::kSafe, fmt::format("call it: `{}()`", name.text()), {}, {}};
  fix.edits = {insert_after(name, "()")};
  reporter
      .report(name, fmt::format("This names {} and does not call it: it is true on every machine.",
                                context.model.qualified(name)))
      .fix.push_back(std::move(fix));
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kAttribute, Kind::kIdentifier},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::uncalled_test
