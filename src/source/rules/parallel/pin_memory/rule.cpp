// TP404: pinned memory without a test whether there is a device to copy to.
#include "source/rules/rule.h"

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/statements.h"
#include "source/semantics/guards.h"

namespace torchport::rules::pin_memory {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP404",
    .name = "pin-memory",
    .family = "parallel",
    .severity = Severity::kWarning,
    .summary = "memory is pinned although there may be no device to copy to",
    .void_with_cuda = true,
};

std::string availability(const PythonContext& context) {
  const std::string_view module = context.settings.uses_accelerator() ? "accelerator" : "cuda";
  return fmt::format("{}.{}.is_available()", context.devices.torch_name(), module);
}

bool is_loader_name(std::string_view name) {
  return name.substr(name.rfind('.') + 1).ends_with("DataLoader");
}

// Whether the callee is a DataLoader of torch, of a library that builds on it, or of this file.
bool is_loader(const SemanticModel& model, Node callee) {
  const std::string& name = model.qualified(callee);
  if (!name.empty()) return is_loader_name(name);
  const auto bindings = model.scopes().reaching(callee.text(), callee);
  if (bindings.size() == 1 && bindings.front()->value.is(Kind::kConditional)) {
    const auto parts = bindings.front()->value.children();
    return parts.size() == 3 && is_loader_name(parts[0].text()) && is_loader_name(parts[2].text());
  }
  return callee.is(Kind::kIdentifier) && is_loader_name(callee.text()) &&
         model.class_named(callee.text()) != nullptr;
}

bool makes_loader(const SemanticModel& model, Node call) {
  if (is_loader(model, syntax::callee(call))) return true;
  return model.called(call) == "functools.partial" && is_loader(model, syntax::positional(call, 0));
}

// Whether a dict is unpacked into a DataLoader: `kwargs = {"pin_memory": True}`.
bool feeds_loader(const SemanticModel& model, Node dict) {
  const Node assignment = plain_assignment(syntax::statement_of(dict));
  if (!assignment || assignment.child(Field::kRight) != dict) return false;
  const std::string_view name = assignment.child(Field::kLeft).text();
  for (const Node splat : model.nodes(Kind::kDictionarySplat)) {
    if (splat.first_child().text() != name) continue;
    if (makes_loader(model, splat.parent().parent())) return true;
  }
  return false;
}

void report_setting(const PythonContext& context, Node whole, Node value, Reporter& reporter) {
  if (semantics::is_cuda_guarded(context.model, whole)) return;
  Fix fix;
  fix.applicability = Applicability::kSafe;
  fix.title = fmt::format("pin only if {}", availability(context));
  fix.edits = {replace(value, availability(context))};
  fix.needs.imports.emplace_back("import torch");
  reporter
      .report(whole,
              "Without an accelerator there is nothing to pin for: torch warns each time the "
              "loader is iterated and ignores it.")
      .fix.push_back(std::move(fix));
}

// Fixes x = x.pin_memory(): if x is a plain name, the condition fits into the line.
Fix method_fix(const PythonContext& context, Node call) {
  Fix fix;
  const std::string condition = availability(context);
  fix.title = fmt::format("pin only if {}", condition);
  const Node object = object_of(call);
  const Node parent = call.parent();
  const bool whole =
      (parent.is(Kind::kAssignment) && call.field() == Field::kRight) || parent.is(Kind::kReturn);
  if (!whole || !object.is_any(Kind::kIdentifier, Kind::kAttribute)) return fix;
  fix.applicability = Applicability::kSafe;
  fix.edits = {insert_after(call, fmt::format(" if {} else {}", condition, object.text()))};
  fix.needs.imports.emplace_back("import torch");
  return fix;
}

// Whether the code is part of a function that is there to pin: the loader calls pin_memory() of a
// batch class only if it pins memory.
bool is_asked_to_pin(Node node) {
  for (Node function = syntax::function_of(node); function;
       function = syntax::function_of(function))
    if (function.child(Field::kName).text().find("pin_memory") != std::string_view::npos)
      return true;
  return false;
}

void check_method(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  // With an argument it is a function of something else: `accelerator.pin_memory(tensor)`.
  if (!model.is_method_call(call, "pin_memory") || syntax::positional(call, 0) ||
      syntax::arguments(call).size() > 1 || is_asked_to_pin(call) || !tried_bodies(call).empty())
    return;
  const Value object = model.value(object_of(call));
  if (object.is(Type::kForeign) || object.is(Type::kDataLoader) || !model.imports_torch()) return;
  if (semantics::is_cuda_guarded(model, call) || runs_under(call, {"pin", "pinned"})) return;
  reporter
      .report(base::Span{object_of(call).end() + 1, call.end()},
              "On a machine without an accelerator this raises \"Cannot access accelerator device "
              "when none is "
              "available\".")
      .fix.push_back(method_fix(context, call));
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (context.is_test()) return;
  if (node.is(Kind::kPair)) {
    std::string key;
    if (!node.child(Field::kValue).is(Kind::kTrue)) return;
    if (!syntax::string_value(node.child(Field::kKey), key) || key != "pin_memory") return;
    if (feeds_loader(context.model, node.parent()))
      report_setting(context, node, node.child(Field::kValue), reporter);
    return;
  }
  if (method_name(node) == "pin_memory") return check_method(context, node, reporter);
  const Node value = syntax::keyword(node, "pin_memory");
  if (!value.is(Kind::kTrue)) return;
  const bool dict = syntax::callee(node).text() == "dict" && feeds_loader(context.model, node);
  if (dict || makes_loader(context.model, node))
    report_setting(context, value.parent(), value, reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kCall, Kind::kPair},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::pin_memory
