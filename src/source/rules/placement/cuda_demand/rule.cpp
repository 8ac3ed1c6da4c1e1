// TP110: statements that end the program where there is no CUDA.
#include "source/rules/rule.h"

#include <array>

#include "source/rules/edits.h"
#include "source/rules/placement/common/cuda_api.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/statements.h"
#include "source/semantics/guards.h"

namespace torchport::rules::cuda_demand {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP110",
    .name = "cuda-demand",
    .family = "placement",
    .severity = Severity::kError,
    .summary = "the program refuses to run without CUDA",
    .void_with_cuda = true,
};

// Whether the file says nothing else of CUDA, by name or in a text: then the demand is all that
// keeps the program from other devices.
bool is_only_tie(const SemanticModel& model, Node statement) {
  for (const Node name : model.named("cuda"))
    if (!statement.holds(name)) return false;
  for (const Node text : model.nodes(Kind::kString)) {
    if (!statement.holds(text) && base::lower(text.text()).find("cuda") != std::string::npos)
      return false;
  }
  return true;
}

// Whether the file imports code that may be what the demand is for: `import gather_cuda`.
bool imports_kernels(const SemanticModel& model) {
  for (const Kind kind : {Kind::kImport, Kind::kImportFrom}) {
    for (const Node import : model.nodes(kind)) {
      const std::string text = base::lower(import.text());
      if (text.find("torch.cuda") == std::string::npos &&
          (text.find("cuda") != std::string::npos || text.find("triton") != std::string::npos))
        return true;
    }
  }
  return false;
}

// Whether what follows in the block of the demand asks CUDA for more than the rules know of:
// `torch.cuda.memory._record_memory_history()`.
bool uses_cuda_after(const SemanticModel& model, Node demand) {
  static constexpr auto kHarmless = std::to_array<std::string_view>(
      {"torch.cuda.is_available", "torch.cuda.device_count", "torch.cuda.manual_seed",
       "torch.cuda.manual_seed_all", "torch.cuda.seed", "torch.cuda.seed_all",
       "torch.cuda.empty_cache"});
  for (Node next = demand.next_sibling(); next; next = next.next_sibling()) {
    for (const Node call : model.nodes(Kind::kCall, next)) {
      const std::string& name = model.called(call);
      if (name.starts_with("torch.cuda.") && !base::one_of(kHarmless, std::string_view(name)) &&
          !semantics::is_cuda_guarded(model, call))
        return true;
    }
  }
  return false;
}

void check(const PythonContext& context, Node statement, Reporter& reporter) {
  const SemanticModel& model = context.model;
  if (context.is_test() || !semantics::is_cuda_demand(model, statement) ||
      is_prepared(context, statement) || is_inside_of(statement, "gpu"))
    return;
  const Node condition =
      statement.is(Kind::kAssert) ? statement.first_child() : statement.child(Field::kCondition);
  Fix fix{Applicability::kDisplay,
          "choose a device, and demand CUDA only where a kernel needs it",
          {},
          {}};
  const bool is_only = is_only_tie(model, statement);
  if (!imports_kernels(model) && !uses_cuda_after(model, statement) && stands_alone(statement) &&
      (statement.parent().first_child() != statement || statement.next_sibling())) {
    fix = {Applicability::kUnsafe,
           "remove it: nothing else in this file needs CUDA",
           {erase(whole_lines(statement))},
           {}};
    fix.comes_last = !is_only;
  }
  reporter
      .report(condition,
              "This ends the program on every machine without CUDA, also where the rest would run.")
      .fix.push_back(std::move(fix));
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kAssert, Kind::kIf},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_demand
