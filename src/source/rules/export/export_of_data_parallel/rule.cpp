// TP602: the exported object is the DataParallel wrapper and not the model.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/tensors.h"
#include "source/rules/value_history.h"

namespace torchport::rules::export_of_data_parallel {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP602",
    .name = "export-of-data-parallel",
    .family = "export",
    .severity = Severity::kError,
    .summary = "a model is exported or traced inside of its `DataParallel` wrapper",
    .on_accelerators = true,
};

bool is_wrapper(std::string_view name) {
  return name.starts_with("torch.nn.") && name.ends_with("DataParallel");
}

bool is_export(std::string_view name) {
  return name == "torch.onnx.export" || name == "torch.onnx.utils.export" ||
         name == "torch.jit.trace" || name == "torch.jit.script" || name == "torch.export.export";
}

// Whether the value was unwrapped on its path: `model = model.module`.
bool unwraps(const ValueHistory& trace) {
  return std::any_of(trace.steps.begin(), trace.steps.end(), [](Node step) {
    if (step.is(Kind::kCall))
      return step.text().starts_with("getattr(") ||
             step.text().find("unwrap") != std::string_view::npos;
    return step.is(Kind::kAttribute) && step.child(Field::kAttributeName).text() == "module";
  });
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const std::string_view method = method_name(call);
  if (method != "export" && method != "trace" && method != "script") return;
  const SemanticModel& model = context.model;
  const std::string& name = model.called(call);
  if (!is_export(name)) return;
  const bool onnx = name.starts_with("torch.onnx");
  Node subject = syntax::keyword(call, onnx ? "model" : "func");
  if (!subject) subject = syntax::positional(call, 0);
  if (!subject.is_any(Kind::kIdentifier, Kind::kAttribute, Kind::kCall)) return;
  const ValueHistory trace = trace_value(model, subject);
  const bool wrapped = std::any_of(trace.origins.begin(), trace.origins.end(),
                                   [&](Node origin) { return is_wrapper(model.called(origin)); });
  if (!wrapped || unwraps(trace)) return;
  Fix fix;
  fix.title = "export the model inside of the wrapper";
  if (!subject.is(Kind::kCall)) {
    fix.applicability = Applicability::kUnsafe;
    // Also where the wrapper is always there: TP401 lets a machine with one device go without it.
    fix.edits = {replace(
        subject, fmt::format("getattr({0}, {1}, {0})", subject.text(), quoted(model, "module")))};
  }
  reporter
      .report(subject, onnx ? "This is a DataParallel wrapper, which the ONNX exporter refuses."
                            : "This records the DataParallel wrapper: the graph is bound to the "
                              "CUDA devices of this "
                              "machine, or to their absence.")
      .fix.push_back(std::move(fix));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::export_of_data_parallel
