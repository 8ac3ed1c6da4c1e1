// TP601: a model is exported or traced in train mode.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/inference.h"
#include "source/rules/mode_neutral.h"
#include "source/rules/statements.h"
#include "source/rules/value_history.h"

namespace torchport::rules::export_in_train_mode {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP601",
    .name = "export-in-train-mode",
    .family = "export",
    .severity = Severity::kError,
    .summary = "a model is exported or traced without `eval()`",
    .on_accelerators = true,
};

// The function around the call, or the module for code outside of functions.
Node around(const SemanticModel& model, Node call) {
  for (Node up = syntax::function_of(call); up; up = syntax::function_of(up)) {
    if (up.is(Kind::kFunction)) return up;
  }
  return model.tree().root();
}

// The wrapper's name in `self.model.module` or `model.module`: eval() of the wrapper reaches the
// model.
Node without_module(Node subject) {
  if (subject.is(Kind::kAttribute) && subject.child(Field::kAttributeName).text() == "module") {
    return subject.child(Field::kObject);
  }
  return subject;
}

// Whether the model comes from something that may return it in evaluation mode: loaders in other
// files, hubs.
bool may_be_evaluated(const SemanticModel& model, Node origin) {
  if (!origin.is(Kind::kCall)) return true;
  const std::string& name = model.called(origin);
  if (name.starts_with("torch.jit.") || name.starts_with("torch.hub.") ||
      name.starts_with("torch.onnx."))
    return true;
  // A wrapper around a model from elsewhere: `Traceable(model)`.
  for (const syntax::Argument& arg : syntax::arguments(origin)) {
    // `args.model` is a model's name, not a model.
    const bool option = arg.value.is(Kind::kAttribute) &&
                        arg.value.child(Field::kObject).text() != model.self_name(origin);
    const std::string given = option ? std::string() : base::lower(last_name(arg.value));
    for (const std::string_view word :
         {"model", "net", "network", "module", "encoder", "decoder", "self"}) {
      if (given.ends_with(word)) return true;
    }
  }
  const std::string last = base::lower(method_name(origin));
  for (const std::string_view word :
       {"load", "pretrained", "init", "restore", "get", "export", "eval", "fuse", "convert"}) {
    if (last.find(word) != std::string::npos) return true;
  }
  // A method of an unknown object.
  return name.empty() && object_of(origin);
}

bool is_in_train_mode(const SemanticModel& model, Node call, Node subject) {
  if (!subject.is_any(Kind::kIdentifier, Kind::kAttribute) ||
      calls_eval(model, around(model, call)))
    return false;
  const ValueHistory trace = trace_value(model, subject);
  if (trace.open || trace.origins.empty()) return false;
  if (std::any_of(trace.origins.begin(), trace.origins.end(), [&](Node origin) {
        return !model.called(origin).ends_with("DataParallel") && may_be_evaluated(model, origin);
      })) {
    return false;
  }
  if (!calls_on(model, trace, "eval").empty()) return false;
  if (std::all_of(trace.origins.begin(), trace.origins.end(),
                  [&](Node origin) { return is_mode_neutral(model, origin); }))
    return false;
  // A caller, or the code that created it, calls eval() on something there.
  return std::none_of(trace.steps.begin(), trace.steps.end(), [&](Node step) {
    const Node home = around(model, step);
    return home != model.tree().root() && calls_eval(model, home);
  });
}

Fix make_fix(Node call, Node subject) {
  Fix fix;
  fix.title = fmt::format("add `{}.eval()` before it", subject.text());
  const Node statement = syntax::statement_of(call);
  if (!stands_alone(statement) || statement.is_any(Kind::kIf, Kind::kFor, Kind::kWhile)) return fix;
  fix.applicability = Applicability::kUnsafe;
  fix.edits = {line_before(statement, fmt::format("{}.eval()", subject.text()))};
  return fix;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const std::string_view method = method_name(call);
  if (method != "export" && method != "trace" && method != "trace_module") return;
  const std::string& name = context.model.called(call);
  const bool onnx = name == "torch.onnx.export" || name == "torch.onnx.utils.export";
  if (!onnx && name != "torch.jit.trace" && name != "torch.export.export") return;
  if (context.is_test() || syntax::keyword(call, "training") || syntax::has_splat(call)) return;
  const std::string_view first = onnx ? "model" : name == "torch.jit.trace" ? "func" : "mod";
  const Node subject = without_module(syntax::argument(call, 0, first));
  if (!is_in_train_mode(context.model, call, subject)) return;
  Finding& finding = reporter.report(
      call,
      onnx ? "The model is in train mode: the exporter of torch 2.9 and newer keeps dropout "
             "and batch "
             "statistics in the graph (older ones switch to eval for the time of the export)."
           : "The model is in train mode: dropout and the use of batch statistics are recorded "
             "in the "
             "graph for good.");
  finding.unless = evaluated_elsewhere(context.model, trace_value(context.model, subject), subject);
  finding.fix.push_back(make_fix(call, subject));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::export_in_train_mode
