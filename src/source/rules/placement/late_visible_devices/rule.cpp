// TP108: CUDA_VISIBLE_DEVICES is set after CUDA may have read it.
#include "source/rules/rule.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "source/flow/early_cuda.h"
#include "source/rules/edits.h"
#include "source/semantics/visible_devices.h"

namespace torchport::rules::late_visible_devices {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP108",
    .name = "late-visible-devices",
    .family = "placement",
    .severity = Severity::kWarning,
    .summary = "CUDA_VISIBLE_DEVICES is set after CUDA may have been started",
};

bool excludes_each_other(Node a, Node b) {
  for (Node up = a; up; up = up.parent()) {
    const Node parent = up.parent();
    if (!parent.holds(b)) continue;
    return parent.is(Kind::kIf) && up.field() != Field::kCondition;
  }
  return false;
}

// The calls that start CUDA, by the function that contains them.
struct Starts {
  explicit Starts(const SemanticModel& model) {
    for (const Node call : model.nodes(Kind::kCall)) {
      if (!flow::starts_cuda(model, call)) continue;
      const Node function = syntax::function_of(call);
      if (!function && !on_import && !semantics::in_main_block(call)) on_import = call;
      by_function[function ? function.index() : 0].push_back(call);
    }
  }

  std::unordered_map<std::uint32_t, std::vector<Node>> by_function;  // 0: the module's own
  Node on_import;
};

// The call that starts CUDA before `setting` runs, as far as this file shows it.
Node started_before(const SemanticModel& model, Node setting) {
  const auto& starts = model.facts<Starts>();
  const Node function = syntax::function_of(setting);
  if (function && starts.on_import) return starts.on_import;
  const auto own = starts.by_function.find(function ? function.index() : 0);
  if (own == starts.by_function.end()) return {};
  for (const Node call : own->second) {
    if (call.end() <= setting.start() && !excludes_each_other(call, setting) &&
        !call.parent().is(Kind::kComparison))
      return call;
  }
  return {};
}

// Whether modules of the same project are imported after torch at the top of a program.
bool follows_own_modules(const SemanticModel& model, Node setting) {
  bool torch = false;
  bool own = false;
  bool program = false;
  for (Node node = model.tree().root().first_child(); node; node = node.next_sibling()) {
    program |= node.is(Kind::kIf) &&
               node.child(Field::kCondition).text().find("__name__") != std::string_view::npos;
    if (!syntax::function_of(setting) && node.start() > setting.start()) continue;
    if (!node.is_any(Kind::kImport, Kind::kImportFrom)) continue;
    const std::string_view text = node.text();
    const bool is_torch = text.starts_with("import torch") || text.starts_with("from torch");
    own |= torch && !is_torch && node.is(Kind::kImportFrom) && semantics::may_be_of_project(node);
    torch |= is_torch;
  }
  return program && torch && own;
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  const SemanticModel& model = context.model;
  if (!model.imports_torch() || !semantics::sets_visible_devices(model, node)) return;
  const Node place = node.is(Kind::kAssignment) ? node.child(Field::kLeft) : node;
  Fix fix;
  fix.title = "set it in the shell, or before torch and everything that uses it is imported";
  if (const Node started = started_before(model, node)) {
    const auto line = model.tree().lines().at(started.start()).line;
    reporter
        .report(place, "Without effect: line " + std::to_string(line) +
                           " has already started CUDA, which reads this variable once.")
        .fix.push_back(std::move(fix));
    return;
  }
  if (!follows_own_modules(model, node)) return;
  Finding& finding = reporter.report(
      place,
      "This is set after torch and modules of the project were imported: it has no effect if one "
      "of them has started CUDA.");
  // Only what a function sets makes a project read the imports of files that do not name torch.
  if (syntax::function_of(node))
    finding.unless.push_back({flow::Condition::Kind::kStartedByNoImport, {}, {}});
  finding.fix.push_back(std::move(fix));
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kAssignment, Kind::kCall},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::late_visible_devices
