// TP105: functions of torch.cuda that raise without CUDA.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/placement/common/cuda_api.h"
#include "source/rules/placement/common/device_index.h"
#include "source/rules/placement/common/device_text.h"
#include "source/semantics/literals.h"

namespace torchport::rules::cuda_api {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP105",
    .name = "cuda-api",
    .family = "placement",
    .severity = Severity::kError,
    .summary = "a function of torch.cuda that raises without CUDA",
    .void_with_cuda = true,
};

// All of these raised when they were called on a CPU build of torch 2.13.
constexpr auto kRaising = std::to_array<std::string_view>({"CUDAGraph",
                                                           "Event",
                                                           "ExternalStream",
                                                           "Stream",
                                                           "can_device_access_peer",
                                                           "cudart",
                                                           "current_blas_handle",
                                                           "current_device",
                                                           "current_stream",
                                                           "default_stream",
                                                           "device",
                                                           "get_device_capability",
                                                           "get_device_name",
                                                           "get_device_properties",
                                                           "get_rng_state",
                                                           "init",
                                                           "initial_seed",
                                                           "ipc_collect",
                                                           "make_graphed_callables",
                                                           "mem_get_info",
                                                           "memory_snapshot",
                                                           "memory_summary",
                                                           "nvtx.mark",
                                                           "nvtx.range",
                                                           "nvtx.range_pop",
                                                           "nvtx.range_push",
                                                           "profiler.start",
                                                           "profiler.stop",
                                                           "profiler.profile",
                                                           "reset_max_memory_allocated",
                                                           "reset_max_memory_cached",
                                                           "reset_peak_memory_stats",
                                                           "set_device",
                                                           "set_per_process_memory_fraction",
                                                           "stream",
                                                           "synchronize",
                                                           "utilization"});

// Whether a value is a new stream, or None without CUDA: who creates it is reported.
bool is_stream_or_none(const SemanticModel& model, Node value) {
  value = syntax::unwrap(value);
  if (value.is(Kind::kConditional)) {
    const auto parts = value.children();
    return parts.size() == 3 && is_stream_or_none(model, parts[0]) && parts[2].is(Kind::kNone);
  }
  return value.is(Kind::kNone) ||
         (value.is(Kind::kCall) && cuda_function(model, value) == "Stream");
}

bool holds_stream_or_none(const SemanticModel& model, Node name) {
  if (name.is(Kind::kIdentifier)) {
    const auto bindings = model.scopes().reaching(name.text(), name);
    return !bindings.empty() &&
           std::all_of(bindings.begin(), bindings.end(), [&](const semantics::Binding* binding) {
             return binding->kind == semantics::BindingKind::kAssign && !binding->unpacked &&
                    is_stream_or_none(model, binding->value);
           });
  }
  const semantics::ClassFacts* facts = model.enclosing_class(name);
  if (!name.is(Kind::kAttribute) || facts == nullptr ||
      name.child(Field::kObject).text() != model.self_name(name))
    return false;
  const auto found = facts->attributes.find(name.child(Field::kAttributeName).text());
  return found != facts->attributes.end() &&
         std::all_of(found->second.begin(), found->second.end(), [&](const auto& attribute) {
           return is_stream_or_none(model, attribute.value);
         });
}

bool raises(const SemanticModel& model, Node call) {
  const std::string_view name = cuda_function(model, call);
  if (std::find(kRaising.begin(), kRaising.end(), name) == kRaising.end()) return false;
  const Node first = syntax::positional(call, 0);
  // stream(None) and set_device(-1) do nothing.
  return !((name == "stream" && (first.is(Kind::kNone) || holds_stream_or_none(model, first))) ||
           (name == "set_device" && first.text() == "-1"));
}

// Whether the call is a part of f"cuda:{torch.cuda.current_device()}", which the rule for literals
// reports.
bool is_part_of_literal(const SemanticModel& model, Node call) {
  for (Node up = call.parent(); up && !up.parent().is_any(Kind::kBlock, Kind::kModule);
       up = up.parent()) {
    if (up.is(Kind::kString) &&
        semantics::classify_literal(model, up).role != semantics::LiteralRole::kNone) {
      return true;
    }
    if (up.is(Kind::kCall) && model.called(up) == "torch.device") return true;
  }
  return false;
}

// Whether another such call contains this one or is in a test before it; that one is reported then.
bool another_raises_first(const SemanticModel& model, Node call) {
  for (Node up = call; up.parent() && !up.parent().is_any(Kind::kFunction, Kind::kModule);
       up = up.parent()) {
    const Node parent = up.parent();
    if (parent.is(Kind::kCall) && raises(model, parent)) return true;
    if (!parent.is(Kind::kIf) || up.field() != Field::kConsequence) continue;
    const Node condition = parent.child(Field::kCondition);
    for (std::uint32_t i = condition.index(); i < condition.subtree_end(); ++i) {
      const Node asked = model.tree().at(i);
      if (asked.is(Kind::kCall) && raises(model, asked)) return true;
    }
  }
  return false;
}

// Whether the function says by its name that it answers for CUDA: get_current_cuda_device(),
// get_max_cuda_memory().
bool is_named_for_cuda(Node call) {
  const Node function = syntax::function_of(call);
  if (!function.is(Kind::kFunction)) return false;
  const std::string name = base::lower(function.child(Field::kName).text());
  return name.find("cuda_device") != std::string::npos ||
         name.find("cuda_memory") != std::string::npos ||
         ((name.starts_with("get_") || name.starts_with("reset_") || name.starts_with("empty_")) &&
          name.find("cuda") != std::string::npos);
}

std::string condition_for(const PythonContext& context) {
  return fmt::format("{}.cuda.is_available()", context.devices.torch_name());
}

Fix guard_fix(const PythonContext& context, Node call, Node statement) {
  const std::string& torch = context.devices.torch_name();
  Fix fix;
  fix.applicability = Applicability::kSafe;
  fix.needs.imports = {"import torch"};
  const bool bare = arguments_text(call).empty();
  if (cuda_function(context.model, call) == "synchronize" && bare &&
      context.settings.uses_accelerator()) {
    fix.edits = guard_statements({statement}, fmt::format("{}.accelerator.is_available()", torch));
    fix.edits.push_back(
        replace(syntax::callee(call), fmt::format("{}.accelerator.synchronize", torch)));
    fix.title = fmt::format("wait for any accelerator: `{}.accelerator.synchronize()`", torch);
    return fix;
  }
  // Neighbours of the same kind share one test.
  const auto run = run_of_statements(statement, [&](Node next) {
    if (!next.is(Kind::kExpressionStatement)) return false;
    for (std::uint32_t i = next.index(); i < next.subtree_end(); ++i) {
      const Node other = context.model.tree().at(i);
      if (other.is(Kind::kCall) && raises(context.model, other)) {
        return statement_of_call(other) == next;
      }
    }
    return false;
  });
  fix.edits = guard_statements(run, condition_for(context));
  fix.title = fmt::format("run it only `if {}:`", condition_for(context));
  return fix;
}

// Whether the function also keeps what only CUDA has, `start = torch.cuda.Event()`: a test around
// one statement of it helps nobody.
bool stays_tied(const PythonContext& context, Node call) {
  const Node function = syntax::function_of(call);
  if (!function.is(Kind::kFunction)) return false;
  const auto calls = context.model.nodes(Kind::kCall, function);
  return std::any_of(calls.begin(), calls.end(), [&](Node other) {
    return cuda_function(context.model, other) == "Event" && !is_prepared(context, other);
  });
}

// Whether something is asked of the call's result where nothing tests for CUDA:
// `s.wait_stream(...)` would fail on None.
bool is_used_without_cuda(const PythonContext& context, Node call) {
  const Node assignment = call.parent();
  const Node target = assignment.child(Field::kLeft);
  if (!assignment.is(Kind::kAssignment)) return false;
  const bool attribute = target.is(Kind::kAttribute);
  const auto names =
      context.model.named(attribute ? target.child(Field::kAttributeName).text() : target.text());
  return std::any_of(names.begin(), names.end(), [&](Node name) {
    const Node use = attribute ? name.parent() : name;
    return use.text() == target.text() && use.parent().is(Kind::kAttribute) &&
           use.field() == Field::kObject && !is_prepared(context, use);
  });
}

// The contexts `with torch.cuda.stream(s):` of a stream that this call makes, where nothing tests
// for CUDA. On a Mac torch.cuda.stream(None) raises, too.
std::vector<Node> contexts_of(const PythonContext& context, Node call) {
  std::vector<Node> contexts;
  const Node target =
      call.parent().is(Kind::kAssignment) ? call.parent().child(Field::kLeft) : Node{};
  for (const Node other : context.model.calls_of("stream")) {
    if (target && cuda_function(context.model, other) == "stream" &&
        other.parent().is(Kind::kWithItem) && !is_prepared(context, other) &&
        syntax::positional(other, 0).text() == target.text())
      contexts.push_back(other);
  }
  return contexts;
}

// Writes `value if torch.cuda.is_available() else other` if there is a plain `other`.
Fix choice_fix(const PythonContext& context, Node call) {
  const std::string_view name = cuda_function(context.model, call);
  Fix fix;
  std::string other;
  if (name == "get_device_name") other = "\"cpu\"";
  if (name == "Stream" && !is_used_without_cuda(context, call)) other = "None";
  if (name == "device" && call.parent().is(Kind::kWithItem)) {
    other = "contextlib.nullcontext()";
    fix.needs.imports.emplace_back("import contextlib");
  }
  if (other.empty() || call.parent().is(Kind::kAttribute)) {
    fix.title = "guard it with `if torch.cuda.is_available():`, or use the device-neutral form";
    return fix;
  }
  fix.needs.imports.emplace_back("import torch");
  const std::string text =
      fmt::format("{} if {} else {}", call.text(), condition_for(context), other);
  const bool bare = call.parent().is(Kind::kWithItem);
  fix.applicability = Applicability::kSafe;
  fix.title = fmt::format("use {} without CUDA", other);
  fix.edits = {replace(call, bare ? text : fitted(call, text))};
  if (name != "Stream") return fix;
  for (const Node other_context : contexts_of(context, call)) {
    fix.needs.imports.emplace_back("import contextlib");
    fix.edits.push_back(
        insert_after(other_context,
                     fmt::format(" if {} else contextlib.nullcontext()", condition_for(context))));
  }
  return fix;
}

// Whether this is the context of a Triton kernel, `with torch.cuda.device(x.device):`.
bool is_for_triton(const SemanticModel& model, Node call) {
  if (cuda_function(model, call) != "device" || !call.parent().is(Kind::kWithItem) ||
      !model.imports("triton"))
    return false;
  const Node device = syntax::positional(call, 0);
  return device.is(Kind::kAttribute) && device.text().find(".device") != std::string_view::npos;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  if (!raises(model, call) || is_prepared(context, call)) return;
  if (is_part_of_literal(model, call) || in_device_loop(model, call)) return;
  if (another_raises_first(model, call) || is_named_for_cuda(call) || is_for_triton(model, call))
    return;
  const std::string_view name = cuda_function(model, call);
  const std::string message =
      name == "stream"
          ? "This context needs a CUDA stream; on a machine without CUDA there is none to give it."
          : fmt::format("On a machine without CUDA torch.cuda.{} raises.", name);
  Finding& finding = reporter.report(call, message);
  if (name == "stream") return;
  const Node index = syntax::positional(call, 0);
  if (name == "set_device" && places_by_index(context, index)) {
    finding.fix.push_back(index_fix(context, index));
    return;
  }
  const Node statement = statement_of_call(call);
  finding.fix.push_back(statement ? guard_fix(context, call, statement)
                                  : choice_fix(context, call));
  if (stays_tied(context, call)) finding.fix.back().applicability = Applicability::kDisplay;
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_api
