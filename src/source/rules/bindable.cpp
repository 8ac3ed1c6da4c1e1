#include "source/rules/bindable.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace torchport::rules {

namespace {

// A decorator, or a function whose argument is taken out of its module.
bool takes_out(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames{
      "torch.jit.script", "torch.jit.script_method", "torch.jit.export", "inspect.getsource",
      "inspect.getsourcelines"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// The names of the functions and classes that the file takes out: `torch.jit.script(Net())`.
std::unordered_set<std::string_view> taken_out(const SemanticModel& model) {
  std::unordered_set<std::string_view> names;
  for (const Node call : model.nodes(Kind::kCall)) {
    if (!takes_out(model.called(call))) continue;
    Node argument = call.child(Field::kArguments).first_child();
    if (argument.is(Kind::kCall)) argument = syntax::callee(argument);
    if (!argument.is(Kind::kIdentifier)) continue;
    names.insert(argument.text());
    // A name for an instance: `net = Net()`.
    for (const semantics::Binding* binding : model.scopes().reaching(argument.text(), argument)) {
      if (binding->value.is(Kind::kCall)) names.insert(syntax::callee(binding->value).text());
    }
  }
  return names;
}

bool is_decorated_so(const SemanticModel& model, Node definition) {
  const Node parent = definition.parent();
  if (!parent.is(Kind::kDecorated)) return false;
  for (Node decorator = parent.first_child(); decorator.is(Kind::kDecorator);
       decorator = decorator.next_sibling()) {
    const Node what = decorator.first_child();
    if (takes_out(what.is(Kind::kCall) ? model.called(what) : model.qualified(what))) return true;
  }
  return false;
}

// The name that a statement binds: "import torch.nn as nn" -> "nn", "import os" -> "os".
std::string_view bound_name(std::string_view statement) {
  const std::string_view last = statement.substr(statement.rfind(' ') + 1);
  return last.substr(0, last.find('.'));
}

// Those that lie in no other one, in source order.
std::vector<base::Span> outermost(std::vector<base::Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const base::Span& a, const base::Span& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::vector<base::Span> outer;
  for (const base::Span& span : spans)
    if (outer.empty() || span.start >= outer.back().end) outer.push_back(span);
  return outer;
}

// Whether an offset is in one of these spans, which are outermost().
bool covers(const std::vector<base::Span>& spans, std::uint32_t offset) {
  const auto after =
      std::upper_bound(spans.begin(), spans.end(), offset,
                       [](std::uint32_t at, const base::Span& span) { return at < span.start; });
  return after != spans.begin() && offset < std::prev(after)->end;
}

}  // namespace

Bindable::Bindable(const PythonContext& context) : devices_(context.devices) {
  const SemanticModel& model = context.model;
  std::vector<base::Span> bodies;
  for (const Node function : model.nodes(Kind::kFunction))
    bodies.push_back(function.child(Field::kBody).span());
  bodies_ = outermost(std::move(bodies));
  std::vector<base::Span> imports;
  for (const Kind kind : {Kind::kImport, Kind::kImportFrom})
    for (const Node node : model.nodes(kind)) imports.push_back(node.span());
  imports_ = outermost(std::move(imports));
  const auto names = taken_out(model);
  std::vector<base::Span> stand_alones;
  for (const Kind kind : {Kind::kFunction, Kind::kClass}) {
    for (const Node definition : model.nodes(kind)) {
      if (names.contains(definition.child(Field::kName).text()) ||
          is_decorated_so(model, definition))
        stand_alones.push_back(definition.span());
    }
  }
  stand_alones_ = outermost(std::move(stand_alones));
}

// What an import statement imports is no use of a name.
bool Bindable::runs_on_import(std::uint32_t offset) const {
  return !covers(imports_, offset) && !covers(bodies_, offset);
}

bool Bindable::holds(const Fix& fix) const {
  std::vector<std::string_view> names;
  if (fix.needs.module_device) names.push_back(devices_.variable());
  for (const std::string& statement : fix.needs.imports)
    if (!devices_.has_import(statement)) names.push_back(bound_name(statement));
  return std::none_of(fix.edits.begin(), fix.edits.end(), [&](const edit::Edit& edit) {
    const std::uint32_t at = edit.span.start;
    return ((at < devices_.insertion_point() && runs_on_import(at)) || covers(stand_alones_, at)) &&
           std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return base::contains_word(edit.text, name); });
  });
}

}  // namespace torchport::rules
