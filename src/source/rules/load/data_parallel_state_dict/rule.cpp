// TP303: state dicts saved through DataParallel and DistributedDataParallel.
#include "source/rules/rule.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/tensors.h"

namespace torchport::rules::data_parallel_state_dict {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP303",
    .name = "data-parallel-state-dict",
    .family = "load",
    .severity = Severity::kWarning,
    .summary = "a state dict saved through DataParallel has `module.` before each key",
};

enum class Wrapped : std::uint8_t { kNo, kMaybe, kYes };

// Whether a value is nn.DataParallel(net).cuda(), DDP(net), or one of them in a branch of a
// conditional.
Wrapped wraps(const SemanticModel& model, Node value) {
  value = syntax::unwrap(value);
  while (value.is(Kind::kCall)) {
    if (is_parallel_wrapper(model.called(value))) return Wrapped::kYes;
    const std::string_view method = method_name(value);
    if (method != "cuda" && method != "to" && method != "train" && method != "eval")
      return Wrapped::kNo;
    value = syntax::unwrap(object_of(value));
  }
  if (!value.is(Kind::kConditional)) return Wrapped::kNo;
  const auto parts = value.children();
  return parts.size() == 3 &&
                 (wraps(model, parts[0]) != Wrapped::kNo || wraps(model, parts[2]) != Wrapped::kNo)
             ? Wrapped::kMaybe
             : Wrapped::kNo;
}

bool is_model_name(std::string_view name) {
  const std::string lower = base::lower(name);
  return lower.find("model") != std::string::npos || lower.ends_with("net") ||
         lower.starts_with("net");
}

// What the file wraps, and whether it handles the prefix of the keys.
struct Wrappings {
  explicit Wrappings(const SemanticModel& model) {
    for (const Node node : model.nodes(Kind::kAssignment)) {
      if (wraps(model, node.child(Field::kRight)) != Wrapped::kNo)
        names.insert(node.child(Field::kLeft).text());
    }
    for (const Node call : model.nodes(Kind::kCall)) {
      const std::string& called = model.called(call);
      data_parallel |=
          is_parallel_wrapper(called) && called.find("Distributed") == std::string::npos;
    }
    std::string text;
    for (const Node node : model.nodes(Kind::kString))
      speaks_of_keys |= syntax::string_value(node, text) && text == "module.";
  }

  std::unordered_set<std::string_view> names;
  bool speaks_of_keys = false;
  bool data_parallel = false;  // TP401's fix lets a machine with one device go without it
};

// A parameter is wrapped if the same file wraps the argument of that name, or handles
// DataParallel's keys.
Wrapped parameter_state(const SemanticModel& model, Node name) {
  if (!is_model_name(name.text())) return Wrapped::kNo;
  const auto& facts = model.facts<Wrappings>();
  return facts.speaks_of_keys || facts.names.contains(name.text()) ? Wrapped::kMaybe : Wrapped::kNo;
}

Wrapped name_state(const SemanticModel& model, Node name) {
  const auto bindings = model.scopes().reaching(name.text(), name);
  bool all = !bindings.empty();
  bool any = false;
  for (const semantics::Binding* binding : bindings) {
    if (binding->kind == semantics::BindingKind::kParameter) return parameter_state(model, name);
    const Wrapped state = binding->kind == semantics::BindingKind::kAssign && !binding->unpacked
                              ? wraps(model, binding->value)
                              : Wrapped::kNo;
    all &= state == Wrapped::kYes;
    any |= state != Wrapped::kNo;
  }
  return all ? Wrapped::kYes : any ? Wrapped::kMaybe : Wrapped::kNo;
}

Wrapped attribute_state(const SemanticModel& model, Node attribute) {
  const semantics::ClassFacts* facts = model.enclosing_class(attribute);
  if (facts == nullptr || attribute.child(Field::kObject).text() != model.self_name(attribute))
    return Wrapped::kNo;
  const auto found = facts->attributes.find(attribute.child(Field::kAttributeName).text());
  if (found == facts->attributes.end()) return Wrapped::kNo;
  bool any = false;
  for (const auto& assigned : found->second) any |= wraps(model, assigned.value) != Wrapped::kNo;
  if (!any) return Wrapped::kNo;
  const bool certain =
      found->second.size() == 1 && wraps(model, found->second.front().value) == Wrapped::kYes &&
      syntax::statement_of(found->second.front().target).parent().parent().is(Kind::kFunction);
  return certain ? Wrapped::kYes : Wrapped::kMaybe;
}

Wrapped state_of(const SemanticModel& model, Node object) {
  if (object.is(Kind::kIdentifier)) return name_state(model, object);
  return object.is(Kind::kAttribute) ? attribute_state(model, object) : Wrapped::kNo;
}

bool is_save(const SemanticModel& model, Node call) {
  if (model.called(call) == "torch.save") return true;
  return base::lower(method_name(call)).find("save") != std::string::npos;
}

bool reaches_save(const SemanticModel& model, Node expression, int depth);

bool name_reaches_save(const SemanticModel& model, Node target, int depth) {
  const auto reads = reads_of(model, target);
  return std::any_of(reads.begin(), reads.end(), [&](Node read) {
    return read.start() > target.start() && reaches_save(model, read, depth + 1);
  });
}

// Whether the expression reaches torch.save or another function that saves: by itself, in a dict,
// or through a name.
bool reaches_save(const SemanticModel& model, Node expression, int depth) {
  if (depth > 3) return false;
  for (Node node = expression; node; node = node.parent()) {
    const Node parent = node.parent();
    if (parent.is(Kind::kArgumentList) && is_save(model, parent.parent())) return true;
    if (parent.is(Kind::kAssignment) && node.field() == Field::kRight) {
      Node left = parent.child(Field::kLeft);
      while (left.is(Kind::kSubscript)) left = left.child(Field::kValue);  // state["model"] = ...
      return left.is(Kind::kIdentifier) && name_reaches_save(model, left, depth);
    }
    if (parent.is_any(Kind::kBlock, Kind::kModule, Kind::kAttribute, Kind::kLambda,
                      Kind::kComparison, Kind::kForIn))
      return false;
  }
  return false;
}

// Whether the author already handles the wrapper: `if hasattr(model, "module"): ... else: ...`, `if
// n_gpu > 1: model.module...`.
bool is_handled(Node call) {
  for (Node node = call.parent(); node && !node.is(Kind::kFunction); node = node.parent()) {
    if (!node.is_any(Kind::kIf, Kind::kConditional)) continue;
    const std::string_view text = node.text();
    if (text.find(".module") != std::string_view::npos ||
        text.find("DataParallel") != std::string_view::npos)
      return true;
  }
  return false;
}

std::string inner(const SemanticModel& model, Node object, Wrapped state) {
  if (state == Wrapped::kYes && !model.facts<Wrappings>().data_parallel)
    return fmt::format("{}.module", object.text());
  return fmt::format("({0}.module if hasattr({0}, {1}) else {0})", object.text(),
                     quoted(model, "module"));
}

// Lets a call of load_state_dict take the keys of checkpoints that were saved through the wrapper,
// too.
void take_old_keys(const SemanticModel& model, Node load, std::vector<Edit>& edits) {
  const Node keys = syntax::argument(load, 0, "state_dict");
  if (!keys) return;
  const std::string prefix = quoted(model, "module.");
  const bool whole = is_primary(keys);
  edits.push_back(insert_before(
      keys,
      fmt::format("{{(key[len({0}):] if key.startswith({0}) else key): value for key, value in {1}",
                  prefix, whole ? "" : "(")));
  edits.push_back(insert_after(keys, whole ? ".items()}" : ").items()}"));
}

Fix make_fix(const PythonContext& context, Node object, Wrapped state) {
  const SemanticModel& model = context.model;
  Fix fix;
  // The other files and this one have to agree about the keys, and so do the functions of this one.
  fix.applicability =
      model.facts<Wrappings>().speaks_of_keys ? Applicability::kDisplay : Applicability::kUnsafe;
  fix.title = "save the module inside, if there is one";
  fix.edits = {replace(object, inner(model, object, state))};
  // What is wrapped and loads a state here takes keys with and without the prefix from now on.
  for (const Node call : model.calls_of("load_state_dict")) {
    const Node other = object_of(call);
    if (!other || syntax::end_of_name(other) == "module" || is_handled(call)) continue;
    const Wrapped there = state_of(model, other);
    if (there == Wrapped::kNo) continue;
    fix.edits.push_back(replace(other, inner(model, other, there)));
    take_old_keys(model, call, fix.edits);
  }
  return fix;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const Node object = object_of(call);
  if (!object || method_name(call) != "state_dict" || syntax::end_of_name(object) == "module")
    return;
  const Wrapped state = state_of(model, object);
  if (state == Wrapped::kNo || is_handled(call) || !reaches_save(model, call, 0)) return;
  Finding& finding = reporter.report(
      call, state == Wrapped::kYes
                ? "The keys are saved with `module.` in front, and a model without "
                  "DataParallel does not load them."
                : "If the model is in DataParallel, the keys are saved with `module.` in "
                  "front, and a plain model does not load them.");
  finding.fix.push_back(make_fix(context, object, state));
  finding.lowered.push_back(
      {{flow::Condition::Kind::kPrefixKnown, {}, {}}, Applicability::kDisplay});
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::data_parallel_state_dict
