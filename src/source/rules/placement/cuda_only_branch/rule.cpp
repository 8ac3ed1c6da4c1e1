// TP113: branches that only CUDA takes. Only a strict check asks for it.
#include "source/rules/rule.h"

#include <array>

#include "source/semantics/literals.h"
#include "source/semantics/other_kinds.h"

namespace torchport::rules::cuda_only_branch {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP113",
    .name = "cuda-only-branch",
    .family = "placement",
    .severity = Severity::kWarning,
    .summary = "a branch that only CUDA takes, whatever other accelerator there is",
    .strict = true,
    .gives_way = true,
};

constexpr const char* kMessage =
    "Only CUDA counts here: with another accelerator the program goes on as if there were none.";

// The `if` with all its branches, or the expression, that a condition decides.
Node decided_by(Node condition) {
  Node top = condition;
  while (top.parent().is_any(Kind::kParenthesized, Kind::kNotOperator, Kind::kBooleanOperator))
    top = top.parent();
  const Node decided = top.parent();
  if (decided.is(Kind::kElif)) return decided.parent();
  return decided.is_any(Kind::kIf, Kind::kConditional, Kind::kAssert, Kind::kAssignment)
             ? decided
             : syntax::statement_of(condition);
}

// `device.type == "cuda"`, `"cuda" in str(device)`, `device.type in ["cuda"]`
bool is_comparison_with_cuda(const SemanticModel& model, Node comparison) {
  bool about_device = false;
  bool with_cuda = false;
  for (const Node string : model.nodes(Kind::kString, comparison)) {
    std::string text;
    with_cuda |= syntax::string_value(string, text) && semantics::is_cuda_string(text);
  }
  for (const Node name : model.nodes(Kind::kIdentifier, comparison))
    about_device |= base::lower(name.text()).find("device") != std::string::npos;
  return with_cuda && about_device;
}

// Whether the program demands CUDA, chooses its device, or skips a test here: other rules say so.
bool is_for_other_rules(const SemanticModel& model, Node decided) {
  if (decided.is(Kind::kAssert)) return true;
  for (const Node string : model.nodes(Kind::kString, decided)) {
    std::string text;
    if (!syntax::string_value(string, text) || !semantics::is_cuda_string(text)) continue;
    const Node parent = string.parent();
    if (!parent.is(Kind::kComparison) && !parent.parent().is(Kind::kComparison)) return true;
  }
  for (const Node call : model.nodes(Kind::kCall, decided)) {
    const std::string_view callee = syntax::callee(call).text();
    if (callee.ends_with("skipTest") || callee == "pytest.skip") return true;
  }
  return false;
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  const SemanticModel& model = context.model;
  static constexpr auto kQuestions = std::to_array<std::string_view>(
      {"torch.cuda.is_available", "torch.cuda.device_count", "torch.cuda.is_bf16_supported"});
  const bool asks =
      node.is(Kind::kCall) && base::one_of(kQuestions, std::string_view(model.called(node)));
  const bool compares = node.is(Kind::kComparison) && is_comparison_with_cuda(model, node);
  if (!asks && !compares) return;
  for (Node up = node; up; up = up.parent())
    if (up.is(Kind::kDecorator)) return;
  const Node decided = decided_by(node);
  if (semantics::names_other_kinds(decided.text()) || is_for_other_rules(model, decided)) return;
  reporter.report(node, kMessage)
      .fix.push_back({Applicability::kDisplay,
                      "ask for any accelerator (torch.accelerator from torch 2.6 on), or for each "
                      "kind that the branch can serve",
                      {},
                      {}});
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kCall, Kind::kComparison},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_only_branch
