// TP111: tests that are skipped without CUDA. Only a strict check asks for it.
#include "source/rules/rule.h"

#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/strict.h"
#include "source/semantics/guards.h"

namespace torchport::rules::cuda_only_test {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP111",
    .name = "cuda-only-test",
    .family = "placement",
    .severity = Severity::kWarning,
    .summary = "a test that is skipped on every other accelerator",
    .strict = true,
};

// The call torch.cuda.is_available() in an expression; invalid if it is not the only one of
// torch.cuda.
Node availability_in(const SemanticModel& model, Node expression) {
  Node found;
  for (const Node call : model.nodes(Kind::kCall, expression)) {
    if (!model.called(call).starts_with("torch.cuda.")) continue;
    if (found || model.called(call) != "torch.cuda.is_available") return {};
    found = call;
  }
  return found;
}

// The decorator of the project that asks for any accelerator; "" if the file does not know it.
std::string_view own_decorator(const SemanticModel& model) {
  static constexpr std::array<std::string_view, 4> kNames{
      "require_torch_accelerator", "require_accelerator", "require_non_cpu", "require_device"};
  for (const std::string_view name : kNames)
    if (knows_name(model, name)) return name;
  return {};
}

Fix make_fix(const PythonContext& context, Node decorated, Node condition) {
  Fix fix{Applicability::kDisplay,
          "ask for any accelerator: torch.accelerator.is_available() from torch 2.6 on",
          {},
          {}};
  const std::string_view own = own_decorator(context.model);
  if (!own.empty() && decorated) {
    return {Applicability::kUnsafe,
            fmt::format("use the project's `@{}`", own),
            {replace(decorated, std::string(own))},
            {}};
  }
  const Node asked = availability_in(context.model, condition);
  if (asked && context.settings.uses_accelerator()) {
    const std::string text =
        fmt::format("{}.accelerator.is_available()", context.devices.torch_name());
    return {Applicability::kUnsafe,
            fmt::format("ask for any accelerator: `{}`", text),
            {replace(asked, text)},
            {{"import torch"}, false}};
  }
  return fix;
}

constexpr std::string_view kMessage =
    "This is skipped on every machine without CUDA, also if it has another accelerator.";

void check_decorator(const PythonContext& context, Node decorator, Reporter& reporter) {
  if (!semantics::decorator_knowledge(context.model, decorator).present) return;
  const Node what = decorator.first_child();
  const bool skips = what.is(Kind::kCall);
  const Node condition = skips ? syntax::positional(what, 0) : Node{};
  reporter.report(what, std::string(kMessage)).fix.push_back(make_fix(context, what, condition));
}

// `if not torch.cuda.is_available(): self.skipTest(...)`
void check_if(const PythonContext& context, Node statement, Reporter& reporter) {
  if (!context.is_test() || statement.child(Field::kAlternative)) return;
  const Node condition = statement.child(Field::kCondition);
  const Node body = statement.child(Field::kConsequence);
  if (base::lower(body.text()).find("skip") == std::string::npos ||
      !semantics::implied_by(context.model, condition, false).present)
    return;
  reporter.report(condition, std::string(kMessage)).fix.push_back(make_fix(context, {}, condition));
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (node.is(Kind::kDecorator)) check_decorator(context, node, reporter);
  if (node.is(Kind::kIf)) check_if(context, node, reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kDecorator, Kind::kIf},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_only_test
