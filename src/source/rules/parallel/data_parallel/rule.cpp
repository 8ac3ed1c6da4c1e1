// TP401: nn.DataParallel without a test of how many devices there are.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/statements.h"
#include "source/rules/value_history.h"
#include "source/semantics/guards.h"
#include "source/semantics/other_kinds.h"

namespace torchport::rules::data_parallel {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP401",
    .name = "data-parallel",
    .family = "parallel",
    .severity = Severity::kWarning,
    .summary = "`nn.DataParallel` wraps the model whatever devices there are",
    .void_with_cuda = true,
};

bool is_optional(const SemanticModel& model, Node call) {
  return semantics::is_cuda_guarded(model, call) ||
         runs_under(call, {"gpu", "gpus", "ngpu", "ngpus", "multigpu", "cuda", "device", "devices",
                           "parallel", "dataparallel", "dp", "ids", "count"});
}

// Whether the call is in a class or function for this strategy; its callers chose it.
bool is_strategy(Node call) {
  for (Node up = call.parent(); up; up = up.parent()) {
    if (!up.is_any(Kind::kFunction, Kind::kClass)) continue;
    const std::string name = base::lower(up.child(Field::kName).text());
    if (name.find("dataparallel") != std::string::npos ||
        name.find("data_parallel") != std::string::npos || name.ends_with("_dp") ||
        name.starts_with("dp")) {
      return true;
    }
    if (up.child(Field::kReturnType).text().ends_with("DataParallel")) return true;
  }
  return false;
}

// The parts of `model = DataParallel(inner, more).cuda()`.
struct Wrapping {
  Node statement;
  Node target;
  Node inner;
  std::string call;   // DataParallel(target, more)
  std::string chain;  // ".cuda()", ".to(device)"
};

bool take_apart(Node call, Wrapping& wrapping) {
  wrapping.statement = syntax::statement_of(call);
  const Node assignment = plain_assignment(wrapping.statement);
  if (!assignment || !stands_alone(wrapping.statement) || syntax::has_splat(call)) return false;
  wrapping.target = assignment.child(Field::kLeft);
  wrapping.inner = syntax::argument(call, 0, "module");
  if (!wrapping.inner) return false;
  Node whole = call;
  for (Node outer = call.parent().parent(); outer.is(Kind::kCall) && object_of(outer) == whole;
       outer = outer.parent().parent()) {
    const std::string_view method = method_name(outer);
    if (method != "cuda" && method != "to" && method != "train" && method != "eval") return false;
    whole = outer;
  }
  if (assignment.child(Field::kRight) != whole) return false;
  const std::string& source = call.tree()->source();
  wrapping.chain = source.substr(call.end(), whole.end() - call.end());
  const std::uint32_t open = call.child(Field::kArguments).start();
  wrapping.call = source.substr(call.start(), open - call.start()) + "(" +
                  std::string(wrapping.target.text()) +
                  source.substr(wrapping.inner.end(), call.end() - wrapping.inner.end());
  return syntax::positional(call, 0) == wrapping.inner;
}

// Whether a test guards this use of `model.module`. Other uses break when the wrapper becomes
// optional.
bool asks_first(Node use) {
  for (Node from = use; from; from = from.parent()) {
    const Node parent = from.parent();
    Node condition;
    if (parent.is_any(Kind::kIf, Kind::kElif)) condition = parent.child(Field::kCondition);
    if (parent.is(Kind::kConditional)) condition = parent.children()[1];
    if (!condition) continue;
    const std::string_view text = condition.text();
    if (text.find("isinstance(") != std::string_view::npos ||
        text.find("hasattr(") != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// Whether both are attributes of one name: what a class wraps as `self.net`, its users know as
// `trainer.net`.
bool same_attribute(Node a, Node b) {
  return a.is(Kind::kAttribute) && b.is(Kind::kAttribute) &&
         a.child(Field::kAttributeName).text() == b.child(Field::kAttributeName).text();
}

// Adds the edits for uses of `.module`. Returns false if one of them cannot be rewritten.
bool loosen_uses(const SemanticModel& model, Node call, Node target, std::vector<Edit>& edits) {
  for (const Node name : model.named("module")) {
    const Node use = name.parent();
    if (!use.is(Kind::kAttribute) || name.field() != Field::kAttributeName) continue;
    const Node object = use.child(Field::kObject);
    if (!object.is_any(Kind::kIdentifier, Kind::kAttribute) || !model.qualified(object).empty())
      continue;
    bool same = object.text() == target.text() || same_attribute(object, target);
    if (!same) {
      for (const Node step : trace_value(model, object).steps) same |= step == call;
    }
    if (!same || asks_first(use)) continue;
    if (use.field() == Field::kLeft || use.parent().is(Kind::kDelete)) return false;
    edits.push_back(replace(use, fmt::format("getattr({0}, \"module\", {0})", object.text())));
  }
  return true;
}

// Whether a state dict is loaded into the wrapper. Its keys start with `module.`, so the wrapper is
// needed.
bool loads_into_wrapper(const SemanticModel& model, Node call, Node target) {
  const auto loads = model.calls_of("load_state_dict", syntax::function_of(call));
  return std::any_of(loads.begin(), loads.end(), [&](Node load) {
    return load.start() > call.start() && object_of(load).text() == target.text();
  });
}

// One level of indentation: the difference between the statement's block and the line above it.
std::string indentation_step(Node statement) {
  const std::string_view inner = indentation_of(statement);
  const Node owner = statement.parent().parent();
  const std::string_view outer = owner ? indentation_of(owner) : std::string_view{};
  if (owner && inner.size() > outer.size() && inner.starts_with(outer))
    return std::string(inner.substr(outer.size()));
  return inner.find('\t') == std::string_view::npos ? "    " : "\t";
}

constexpr const char* kLoadFirst =
    "load the state dict first, without the `module.` prefix of its keys, then wrap the model if "
    "there is more than one CUDA device";

Fix make_fix(const PythonContext& context, Node call) {
  Fix fix;
  fix.title = "wrap it only if there is more than one CUDA device, or use DistributedDataParallel";
  Wrapping wrapping;
  if (!take_apart(call, wrapping)) return fix;
  if (loads_into_wrapper(context.model, call, wrapping.target)) {
    fix.title = kLoadFirst;
    return fix;
  }
  std::vector<Edit> edits;
  if (!loosen_uses(context.model, call, wrapping.target, edits)) return fix;
  const std::string_view newline = newline_of(call);
  const std::string_view indent = indentation_of(wrapping.statement);
  const std::string_view target = wrapping.target.text();
  const std::string step = indentation_step(wrapping.statement);
  std::string text;
  if (wrapping.inner.text() != target) {
    text += fmt::format("{} = {}{}{}", target, wrapping.inner.text(), newline, indent);
  }
  const char* test =
      semantics::gets_host_inputs(context.model, call) ? "is_available()" : "device_count() > 1";
  text += fmt::format("if {}.cuda.{}:{}{}{}{} = {}", context.devices.torch_name(), test, newline,
                      indent, step, target, wrapping.call);
  if (!wrapping.chain.empty()) {
    text += fmt::format("{}{}{} = {}{}", newline, indent, target, target, wrapping.chain);
  }
  edits.push_back(replace(wrapping.statement, std::move(text)));
  fix.applicability = Applicability::kUnsafe;
  fix.edits = std::move(edits);
  fix.needs.imports.emplace_back("import torch");
  return fix;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  if (!method_name(call).ends_with("Parallel") && !syntax::callee(call).is(Kind::kIdentifier))
    return;
  if (!semantics::is_data_parallel(context.model.called(call)) || is_optional(context.model, call))
    return;
  if (context.is_test() || is_strategy(call)) return;
  Finding& finding = reporter.report(
      call,
      "DataParallel splits batches over CUDA devices only. On mps and the CPU it adds nothing "
      "but "
      "`.module` and the prefix `module.` in saved keys, and on other accelerators its calls "
      "raise; DistributedDataParallel works on all devices.");
  finding.fix.push_back(make_fix(context, call));
  finding.lowered.push_back(
      {{flow::Condition::Kind::kPrefixKnown, {}, {}}, Applicability::kDisplay, kLoadFirst});
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::data_parallel
