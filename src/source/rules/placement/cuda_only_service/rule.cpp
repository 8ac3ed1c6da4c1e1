// TP109: functions of torch.cuda that do nothing, or return 0, without CUDA.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/placement/common/cuda_api.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/tensors.h"
#include "source/semantics/guards.h"

namespace torchport::rules::cuda_only_service {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP109",
    .name = "cuda-only-service",
    .family = "placement",
    .severity = Severity::kWarning,
    .summary = "counts, seeds, measures or frees CUDA devices only",
    .void_with_cuda = true,
};

// All of these did nothing or returned 0 when they were called on a CPU build of torch 2.13.
constexpr auto kStatistics = std::to_array<std::string_view>(
    {"max_memory_allocated", "max_memory_cached", "max_memory_reserved", "memory_allocated",
     "memory_cached", "memory_reserved", "memory_stats"});

bool is_statistic(std::string_view name) {
  return std::find(kStatistics.begin(), kStatistics.end(), name) != kStatistics.end();
}

bool is_seed(std::string_view name) {
  return name == "manual_seed" || name == "manual_seed_all" || name == "seed" || name == "seed_all";
}

std::string message_for(std::string_view name) {
  if (name == "device_count") {
    return "This counts only CUDA devices: it is 0 on a machine without CUDA, even if that has "
           "another GPU.";
  }
  if (name == "empty_cache")
    return "This frees only CUDA's cache; on other accelerators it does nothing.";
  if (is_seed(name)) {
    return "This seeds only CUDA's generators; torch.manual_seed seeds those of every device.";
  }
  return "This measures only CUDA's memory: it is 0 on a machine without CUDA, even if another GPU "
         "is used.";
}

// Whether the same text has the same value wherever nothing is assigned in between.
bool is_steady(Node call) {
  const Node list = call.child(Field::kArguments);
  for (std::uint32_t i = list.index(); i < list.subtree_end(); ++i) {
    const Node node = call.tree()->at(i);
    if (node.is_any(Kind::kNamedExpression, Kind::kAwait) ||
        (node.is(Kind::kCall) && syntax::callee(node).text() != "int"))
      return false;
  }
  return true;
}

// Whether a statement may give a name of the arguments of a call another value.
bool may_change(Node statement, Node call) {
  const Node value = statement.first_child();
  const bool plain = statement.is(Kind::kExpressionStatement) &&
                     value.is_any(Kind::kAssignment, Kind::kAugmentedAssignment);
  const std::string_view text = plain ? value.child(Field::kLeft).text() : statement.text();
  if (statement.is(Kind::kExpressionStatement) && !plain) return false;
  const Node list = call.child(Field::kArguments);
  for (std::uint32_t i = list.index(); i < list.subtree_end(); ++i) {
    const Node node = call.tree()->at(i);
    if (node.is(Kind::kIdentifier) && base::contains_word(text, node.text())) return true;
  }
  return false;
}

// Whether torch.manual_seed() with the same value comes before the statement in its block, with
// only other seeds in between.
bool is_seeded_above(const SemanticModel& model, Node statement, Node call) {
  if (!is_steady(call)) return false;
  bool seeded = false;
  for (Node other = statement.parent().first_child(); other && other != statement;
       other = other.next_sibling()) {
    const Node made = other.is(Kind::kExpressionStatement) ? other.first_child() : Node{};
    if (made.is(Kind::kCall) && model.called(made) == "torch.manual_seed") {
      seeded = arguments_text(made) == arguments_text(call);
    } else if (made.is(Kind::kCall) && method_name(made).find("seed") == std::string_view::npos) {
      seeded = false;
    } else if (!made.is(Kind::kCall) &&
               (other.text().find('(') != std::string_view::npos || may_change(other, call))) {
      seeded = false;
    }
  }
  return seeded;
}

// Whether the next statement seeds every device, so that this seed is never used.
bool is_seeded_anew(const SemanticModel& model, Node statement) {
  const Node next = statement.next_sibling();
  const Node made = next.is(Kind::kExpressionStatement) ? next.first_child() : Node{};
  return made.is(Kind::kCall) && model.called(made) == "torch.manual_seed";
}

// Whether only imports and other calls like it run before a statement: there is nothing to free
// yet.
bool is_at_start(Node statement) {
  if (!statement.parent().is(Kind::kModule)) return false;
  for (Node other = statement.parent().first_child(); other && other != statement;
       other = other.next_sibling()) {
    const Node value = other.first_child();
    const bool says = other.is(Kind::kExpressionStatement) && value.is(Kind::kString);
    if (!says &&
        !other.is_any(Kind::kImport, Kind::kImportFrom, Kind::kFutureImport, Kind::kComment))
      return false;
  }
  return true;
}

// Whether the call controls a loop that does something specific to CUDA with each device.
bool drives_cuda_loop(Node call) {
  for (Node up = call; up.parent(); up = up.parent()) {
    const Node parent = up.parent();
    if (parent.is(Kind::kFor) && up.field() == Field::kRight) {
      return parent.child(Field::kBody).text().find("cuda") != std::string_view::npos;
    }
    if (parent.is(Kind::kForIn)) {
      return parent.parent().first_child().text().find("cuda") != std::string_view::npos;
    }
    if (parent.is_any(Kind::kBlock, Kind::kModule)) return false;
  }
  return false;
}

Fix make_fix(const PythonContext& context, Node call, std::string_view name) {
  const std::string& torch = context.devices.torch_name();
  const Node statement = statement_of_call(call);
  Fix fix;
  fix.title = "torch.accelerator has the device-neutral form from torch 2.6 (memory: 2.9) on";
  if (name == "device_count" && context.settings.uses_accelerator() && !drives_cuda_loop(call)) {
    fix.applicability = Applicability::kUnsafe;
    fix.title =
        fmt::format("count the devices of any kind: `{}.accelerator.device_count()`", torch);
    fix.edits = {replace(syntax::callee(call), fmt::format("{}.accelerator.device_count", torch))};
    fix.needs.imports = {"import torch"};
  } else if (name.starts_with("manual_seed")) {
    fix.title = fmt::format("`{}.manual_seed` seeds every device", torch);
    if (statement && is_seeded_above(context.model, statement, call)) {
      fix.applicability = Applicability::kSafe;
      fix.title = fmt::format("drop it: `{}.manual_seed` above seeds every device", torch);
      fix.edits = {erase(lines_with_comment(statement))};
    }
  } else if (name == "empty_cache" && statement && context.settings.uses_accelerator() &&
             context.settings.min_torch >= edit::TorchVersion{2, 9}) {
    fix.applicability = Applicability::kSafe;
    fix.title = fmt::format("free the cache of any accelerator");
    fix.edits = guard_statements({statement}, fmt::format("{}.accelerator.is_available()", torch));
    fix.edits.push_back(
        replace(syntax::callee(call), fmt::format("{}.accelerator.empty_cache", torch)));
    fix.needs.imports = {"import torch"};
  }
  return fix;
}

// Whether the block of the call does the same for other devices: `torch.xpu.empty_cache()`.
bool serves_others_beside(const SemanticModel& model, Node call, std::string_view name) {
  static constexpr std::array<std::string_view, 6> kOthers{"xpu", "npu", "mps",
                                                           "mlu", "hpu", "musa"};
  const Node block = syntax::statement_of(call).parent();
  const auto others = model.calls_of(name, block);
  return std::any_of(others.begin(), others.end(), [&](Node other) {
    const std::string& full = model.called(other);
    return std::any_of(kOthers.begin(), kOthers.end(), [&](std::string_view kind) {
      return full == fmt::format("torch.{}.{}", kind, name) ||
             full == fmt::format("torch_{0}.{0}.{1}", kind, name);
    });
  });
}

// Whether the count is meant for CUDA by its context: NUM_CUDA_DEVICES, "CUDA devices: %d", the
// argument of another call of torch.cuda.
bool is_meant_for_cuda(const SemanticModel& model, Node call) {
  Node top = call;
  while (!top.parent().is_any(Kind::kBlock, Kind::kModule, Kind::kExpressionStatement) &&
         !top.parent().is_any(Kind::kFor, Kind::kIf, Kind::kWith, Kind::kFunction, Kind::kClass)) {
    top = top.parent();
    if (top.is(Kind::kCall) && !cuda_function(model, top).empty()) return true;
  }
  std::string text = base::lower(top.text());
  for (auto at = text.find("cuda."); at != std::string::npos; at = text.find("cuda.", at)) {
    text.erase(at, 5);
  }
  return text.find("cuda") != std::string::npos;
}

// Whether this is `max(1, torch.cuda.device_count())`: the count divides work, and one device is
// expected.
bool is_at_least_one(const SemanticModel& model, Node call) {
  const auto in_max = [](Node node) {
    return node.parent().is(Kind::kArgumentList) && node.parent().parent().is(Kind::kCall) &&
           syntax::callee(node.parent().parent()).text() == "max";
  };
  if (in_max(call)) return true;
  const Node assignment = call.parent();
  if (!assignment.is(Kind::kAssignment) || !assignment.child(Field::kLeft).is(Kind::kIdentifier))
    return false;
  // n = torch.cuda.device_count(); if n == 0: n = 1
  const Node target = assignment.child(Field::kLeft);
  for (const semantics::Binding* binding : model.scopes().all(target.text(), target)) {
    if (binding->value.start() > call.end() && binding->value.text() == "1") return true;
  }
  const auto reads = reads_of(model, assignment.child(Field::kLeft));
  return !reads.empty() && std::all_of(reads.begin(), reads.end(), in_max);
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const std::string_view name = cuda_function(context.model, call);
  if (name.empty()) return;
  const bool counts = name == "device_count";
  if (!counts && name != "empty_cache" && !is_seed(name) && !is_statistic(name)) return;
  // `if torch.cuda.device_count() > 1:` is a guard.
  if (is_tested(call) || is_prepared(context, call)) return;
  if (semantics::knowledge_at(context.model, call).present) return;  // a flag that is on by default
  if (counts && (is_meant_for_cuda(context.model, call) || context.is_test())) return;
  if (counts && is_at_least_one(context.model, call)) return;
  // empty_cuda_cache(), get_max_cuda_memory(): their callers ask for CUDA.
  if (!is_seed(name) && is_inside_of(call, "cuda")) return;
  if (!is_seed(name) && serves_others_beside(context.model, call, name)) return;
  if (const Node statement = statement_of_call(call)) {
    if (is_seed(name) && is_seeded_anew(context.model, statement)) return;
    if (name == "empty_cache" && is_at_start(statement)) return;
  }
  Finding& finding = reporter.report(call, message_for(name));
  finding.fix.push_back(make_fix(context, call, name));
  const Node function = syntax::function_of(call);
  if (!is_seed(name) && function.is(Kind::kFunction))
    finding.unless.push_back({flow::Condition::Kind::kCalledWithCuda, flow::name_of(function), {}});
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_only_service
