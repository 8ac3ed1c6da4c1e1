// TP402: devices that are named by number: `device_ids=[0, 1]`, `device_ids=[rank]` without CUDA.
#include "source/rules/rule.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/statements.h"
#include "source/semantics/guards.h"
#include "source/semantics/other_kinds.h"

namespace torchport::rules::device_ids {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP402",
    .name = "device-ids",
    .family = "parallel",
    .severity = Severity::kError,
    .summary = "`device_ids` names CUDA devices that another machine does not have",
    .void_with_cuda = true,
};

bool is_distributed(std::string_view name) {
  return name == "torch.nn.parallel.DistributedDataParallel" ||
         name == "torch.nn.parallel.distributed.DistributedDataParallel";
}

// The number of devices in [0, 1], (0, 1), range(4), list(range(4)), or a name that is bound once
// to one of them.
int literal_ids(const SemanticModel& model, Node ids, int depth = 0) {
  ids = syntax::unwrap(ids);
  if (depth > 3 || !ids) return 0;
  if (ids.is_any(Kind::kList, Kind::kTuple)) {
    int count = 0;
    for (const Node item : ids.children()) {
      if (!item.is(Kind::kInteger)) return 0;
      ++count;
    }
    return count;
  }
  if (ids.is(Kind::kCall)) {
    const std::string_view name = syntax::callee(ids).text();
    const Node first = syntax::positional(ids, 0);
    if (name == "list") return literal_ids(model, first, depth + 1);
    if (name != "range" || !first.is(Kind::kInteger)) return 0;
    int count = 0;
    std::from_chars(first.text().data(), first.text().data() + first.text().size(), count);
    return std::max(1, count);
  }
  if (!ids.is(Kind::kIdentifier)) return 0;
  const auto bindings = model.scopes().reaching(ids.text(), ids);
  if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kAssign ||
      bindings.front()->unpacked)
    return 0;
  return literal_ids(model, bindings.front()->value, depth + 1);
}

Node whole_of(Node call, Node value) {
  for (const syntax::Argument& arg : syntax::arguments(call)) {
    if (arg.value == value) return arg.whole;
  }
  return {};
}

// Passes device_ids of DistributedDataParallel only with CUDA.
Fix condition_fix(const PythonContext& context, Node call, Node ids) {
  Fix fix;
  fix.applicability = Applicability::kSafe;
  fix.title = "pass `None` if CUDA is not available";
  fix.needs.imports.emplace_back("import torch");
  const std::string condition =
      fmt::format(" if {}.cuda.is_available() else None", context.devices.torch_name());
  fix.edits.push_back(insert_after(ids, condition));
  const Node output = syntax::keyword(call, "output_device");
  if (output && !output.is_any(Kind::kConditional, Kind::kNone))
    fix.edits.push_back(insert_after(output, condition));
  if (ids.is_any(Kind::kConditional, Kind::kLambda, Kind::kBooleanOperator)) fix = {};
  return fix;
}

// Whether the call is in a branch that has tested the backend: NCCL means CUDA.
bool is_nccl_branch(Node call) {
  for (Node from = call; from; from = from.parent()) {
    const Node parent = from.parent();
    if (!parent.is_any(Kind::kIf, Kind::kElif)) continue;
    const std::string_view condition = parent.child(Field::kCondition).text();
    if (from.is(Kind::kElse) && condition.find("gloo") != std::string_view::npos) return true;
    if (from.field() == Field::kConsequence && condition.find("nccl") != std::string_view::npos)
      return true;
  }
  return false;
}

void check_distributed(const PythonContext& context, Node call, Reporter& reporter) {
  const Node ids = syntax::keyword(call, "device_ids");
  // A name may hold None already.
  if (!ids.is_any(Kind::kList, Kind::kTuple) || !ids.first_child() || is_nccl_branch(call)) return;
  if (ids.first_child().is_any(Kind::kNone, Kind::kListSplat)) return;
  reporter
      .report(whole_of(call, ids),
              "On a machine without CUDA this raises \"device_ids and output_device arguments only "
              "work with "
              "single-device/multiple-device GPU modules\".")
      .fix.push_back(condition_fix(context, call, ids));
}

void check_data_parallel(const PythonContext& context, Node call, Reporter& reporter) {
  const Node ids = syntax::argument(call, 1, "device_ids");
  const int count = literal_ids(context.model, ids);
  if (count == 0) return;
  const semantics::CudaKnowledge guard = semantics::knowledge_at(context.model, call);
  const std::string_view condition = guard.condition.text();
  const bool counted = condition.find("count") != std::string_view::npos ||
                       condition.find("gpu") != std::string_view::npos;
  if (guard.present && (count == 1 || counted)) return;
  Finding& finding = reporter.report(
      whole_of(call, ids),
      count == 1 ? "Only device 0 is ever used; other CUDA devices, and other kinds of devices, "
                   "stand idle."
                 : fmt::format("These {} devices are those of one machine: with fewer CUDA devices "
                               "this raises \"Invalid device id\".",
                               count));
  Fix fix;
  fix.title = "drop `device_ids`: all CUDA devices are used";
  // One device works on every machine with CUDA, and a batch that is split gives batch norm its
  // parts.
  if (count > 1 && !syntax::keyword(call, "output_device") && !syntax::positional(call, 2) &&
      !syntax::has_splat(call)) {
    fix.applicability = Applicability::kUnsafe;
    fix.edits = {remove_argument(call, whole_of(call, ids))};
  }
  finding.fix.push_back(std::move(fix));
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  if (!syntax::keyword(call, "device_ids") && !syntax::positional(call, 1)) return;
  if (context.is_test()) return;
  const std::string& name = context.model.called(call);
  if (semantics::is_data_parallel(name)) return check_data_parallel(context, call, reporter);
  if (is_distributed(name) && !semantics::is_cuda_guarded(context.model, call))
    check_distributed(context, call, reporter);
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::device_ids
