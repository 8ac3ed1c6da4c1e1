// TP603: the example input of an export is on another device than the model.
#include "source/rules/rule.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/module_place.h"
#include "source/rules/statements.h"
#include "source/rules/value_history.h"
#include "source/semantics/guards.h"

namespace torchport::rules::export_dummy_device {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP603",
    .name = "export-dummy-device",
    .family = "export",
    .severity = Severity::kError,
    .summary = "the example input of an export is on another device than the model",
    .on_accelerators = true,
};

// The call that creates the example input; a chain of methods counts as one.
Node maker_of(const SemanticModel& model, Node input) {
  const ValueHistory trace = trace_value(model, input);
  if (trace.open || trace.origins.size() != 1) return {};
  for (const std::string_view move : {"cuda", "to", "cpu"}) {
    for (const Node call : calls_on(model, trace, move)) {
      if (std::find(trace.steps.begin(), trace.steps.end(), call) == trace.steps.end()) return {};
    }
  }
  return trace.steps.back();
}

Place input_place(const SemanticModel& model, Node input, Node maker) {
  if (!maker.is(Kind::kCall) || syntax::keyword(maker, "device") || syntax::has_splat(maker))
    return Place::kUnknown;
  const std::string& name = model.called(maker);
  if (!semantics::is_factory(name)) return Place::kUnknown;
  if (model.tree().source().find("set_default_") != std::string::npos) return Place::kUnknown;
  const Value value = model.value(input);
  if (!value.is(Type::kTensor)) return Place::kUnknown;
  if (value.device_state == DeviceState::kCuda) return Place::kElsewhere;
  return value.device_state == DeviceState::kCpu ? Place::kCpu : Place::kUnknown;
}

std::vector<Node> inputs_of(Node call, bool onnx) {
  Node args = syntax::keyword(call, onnx ? "args" : "example_inputs");
  if (!args) args = syntax::positional(call, 1);
  args = args.is(Kind::kTuple) ? args : syntax::unwrap(args);
  if (args.is_any(Kind::kTuple, Kind::kList)) return args.children();
  return args ? std::vector<Node>{args} : std::vector<Node>{};
}

// Creates the input on the model's device. Only a factory call in the function that exports can be
// changed, because the model has its name there.
Fix make_fix(const PythonContext& context, Node call, Node subject, Node input, Node maker) {
  Fix fix;
  fix.title = "make it on the device of the model";
  if (syntax::function_of(maker) != syntax::function_of(call)) return fix;
  if (!subject.is_any(Kind::kIdentifier, Kind::kAttribute)) return fix;
  const auto bindings =
      context.model.scopes().reaching(subject.text().substr(0, subject.text().find('.')), maker);
  if (bindings.empty() || bindings.front()->target.start() > maker.start()) return fix;
  const std::string device = fmt::format("device=next({}.parameters()).device", subject.text());
  fix.edits = {add_argument(maker, device)};
  const Node outer = maker.parent().parent();
  const bool chained = outer.is(Kind::kCall) && object_of(outer) == maker;
  if (chained && (method_name(outer) == "cuda" || method_name(outer) == "to")) {
    fix.edits.push_back(erase(method_span(outer)));
  } else if (context.model.value(input).device_state == DeviceState::kCuda) {
    fix.edits.clear();
    return fix;
  }
  fix.title = fmt::format("make it with `{}`", device);
  fix.applicability = Applicability::kUnsafe;
  return fix;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const std::string_view method = method_name(call);
  if (method != "export" && method != "trace") return;
  const SemanticModel& model = context.model;
  const std::string& name = model.called(call);
  const bool onnx = name == "torch.onnx.export" || name == "torch.onnx.utils.export";
  if (!onnx && name != "torch.jit.trace") return;
  Node subject = syntax::keyword(call, onnx ? "model" : "func");
  if (!subject) subject = syntax::positional(call, 0);
  if (subject.is(Kind::kAttribute) && subject.child(Field::kAttributeName).text() == "module") {
    subject = subject.child(Field::kObject);
  }
  const Place place = module_place(model, trace_value(model, subject));
  if (place == Place::kUnknown || semantics::knowledge_at(model, call)) return;
  for (const Node input : inputs_of(call, onnx)) {
    const Node maker = maker_of(model, input);
    const Place given = input_place(model, input, maker);
    if (given == Place::kUnknown || given == place) continue;
    reporter
        .report(
            input,
            place == Place::kElsewhere
                ? "This input is on the CPU and the model was moved to a device: the export raises "
                  "\"Expected all tensors to be on the same device\"."
                : "This input is on a CUDA device and the model on the CPU: the export raises "
                  "\"Expected "
                  "all tensors to be on the same device\".")
        .fix.push_back(make_fix(context, call, subject, input, maker));
  }
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::export_dummy_device
