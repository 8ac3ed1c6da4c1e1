#include "source/rules/strict.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

constexpr std::string_view kOwnDevice =
    "torch_device";  // of test suites in the manner of Hugging Face

// The call of torch.cuda around a place for which such test suites have a function.
std::string_view backend_function(std::string_view cuda_name) {
  if (cuda_name == "torch.cuda.empty_cache") return "backend_empty_cache";
  if (cuda_name == "torch.cuda.manual_seed" || cuda_name == "torch.cuda.manual_seed_all")
    return "backend_manual_seed";
  if (cuda_name == "torch.cuda.device_count") return "backend_device_count";
  if (cuda_name == "torch.cuda.reset_peak_memory_stats") return "backend_reset_peak_memory_stats";
  if (cuda_name == "torch.cuda.max_memory_allocated") return "backend_max_memory_allocated";
  return cuda_name == "torch.cuda.synchronize" ? "backend_synchronize" : std::string_view{};
}

// The fix that calls the project's function for any backend.
std::vector<Fix> backend_fix(const PythonContext& context, Node place) {
  const SemanticModel& model = context.model;
  Node call = place;
  while (call && !call.is(Kind::kCall)) call = call.parent();
  const std::string_view function = backend_function(model.called(call));
  if (function.empty() || !knows_name(model, function) || !knows_name(model, kOwnDevice)) return {};
  const bool seeds = function == "backend_manual_seed";
  const std::string_view rest = seeds ? arguments_text(call) : std::string_view{};
  const std::string text =
      fmt::format("{}({}{}{})", function, kOwnDevice, rest.empty() ? "" : ", ", rest);
  return {{Applicability::kUnsafe,
           fmt::format("call `{}`, which serves every device", text),
           {replace(call, text)},
           {}}};
}

bool uses_own_device(const Fix& fix) {
  return std::any_of(fix.edits.begin(), fix.edits.end(),
                     [](const Edit& edit) { return base::contains_word(edit.text, kOwnDevice); });
}

}  // namespace

bool is_for_strict(std::string_view family) {
  return family == "placement" || family == "parallel" || family == "mode";
}

bool knows_name(const SemanticModel& model, std::string_view name) {
  return !model.scopes().module_level(name).empty();
}

void make_guarded(const PythonContext& context, Node place, Finding& finding) {
  const semantics::CudaKnowledge guard = semantics::knowledge_at(context.model, place);
  constexpr std::size_t kMostShown = 60;
  const std::string_view shown = guard.condition.text();
  const auto line = context.model.tree().lines().at(guard.condition.start()).line;
  finding.message =
      guard.condition && shown.size() <= kMostShown && shown.find('\n') == std::string_view::npos
          ? fmt::format(
                "This runs only with CUDA (`{}` in line {}): other accelerators are never "
                "used here.",
                shown, line)
          : "This runs only with CUDA: other accelerators are never used here.";
  finding.unless.clear();
  std::erase_if(finding.fix, [](const Fix& fix) { return !uses_own_device(fix); });
  for (Fix& fix : finding.fix)
    fix.applicability = std::max(fix.applicability, Applicability::kUnsafe);
  if (finding.fix.empty()) finding.fix = backend_fix(context, place);
}

void drop_what_gives_way(const PythonContext& context, std::vector<Finding>& findings) {
  std::vector<std::uint32_t> others;
  for (const Finding& finding : findings)
    if (!finding.rule->gives_way) others.push_back(finding.span.start);
  std::sort(others.begin(), others.end());
  std::erase_if(findings, [&](const Finding& finding) {
    if (!finding.rule->gives_way) return false;
    const Node place = syntax::node_at(context.model.tree(), finding.span.start);
    const Node statement = syntax::statement_of(place);
    const auto inside = std::lower_bound(others.begin(), others.end(), statement.start());
    return inside != others.end() && *inside < statement.end();
  });
}

}  // namespace torchport::rules
