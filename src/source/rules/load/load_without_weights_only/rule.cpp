// TP302: torch.load calls that would run code from the file.
#include "source/rules/rule.h"

#include "source/rules/edits.h"
#include "source/rules/load/common/loading.h"

namespace torchport::rules::load_without_weights_only {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP302",
    .name = "load-without-weights-only",
    .family = "load",
    .severity = Severity::kWarning,
    .summary = "`torch.load` runs code out of the file before torch 2.6",
    .hygiene = true,
};

constexpr edit::TorchVersion kDefaultSince{2, 6};
constexpr edit::TorchVersion kKnownSince{1, 13};

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const std::string& name = context.model.called(call);
  if (name != "torch.load" && name != "torch.serialization.load") return;
  if (syntax::has_splat(call) || syntax::keyword(call, "weights_only") ||
      reads_own_output(context.model, call))
    return;
  const bool numpy = holds_numpy(context.model, call);
  Finding& finding = reporter.report(
      syntax::callee(call),
      numpy ? "Before torch 2.6 this unpickles whatever the file holds and runs the code in it; "
              "from 2.6 on it refuses the NumPy arrays in it."
            : "Before torch 2.6 this unpickles whatever the file holds and runs the code "
              "in it; from 2.6 on it refuses files with more than weights.");
  if (auto writers = writers_before(context.model, call); !writers.empty())
    finding.unless.push_back({flow::Condition::Kind::kWritten, {}, std::move(writers)});
  const bool unknown =
      context.settings.min_torch_stated && context.settings.min_torch < kKnownSince;
  const Node pickle = syntax::argument(call, 2, "pickle_module");
  if (unknown || pickle) return;  // this torch has no such parameter, or pickle_module excludes it
  Fix fix;
  fix.title = "load with weights_only=True";
  if (numpy) {
    fix.title = "save the arrays as tensors, or by numpy.save, and load those";
    finding.fix.push_back(std::move(fix));
    return;
  }
  // From 2.6 on it is what the call does anyway.
  if (context.settings.min_torch >= kDefaultSince)
    fix.applicability = Applicability::kSafe;
  else
    fix.applicability =
        holds_weights(context.model, call) ? Applicability::kUnsafe : Applicability::kDisplay;
  fix.edits = {add_argument(call, "weights_only=True")};
  finding.fix.push_back(std::move(fix));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::load_without_weights_only
