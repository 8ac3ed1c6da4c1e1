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

}  // namespace

Bindable::Bindable(const PythonContext& context) : devices_(context.devices) {
  const SemanticModel& model = context.model;
  for (const Node function : model.nodes(Kind::kFunction)) {
    const base::Span body = function.child(Field::kBody).span();
    if (bodies_.empty() || body.start >= bodies_.back().end) bodies_.push_back(body);
  }
  for (const Kind kind : {Kind::kImport, Kind::kImportFrom})
    for (const Node node : model.nodes(kind)) imports_.push_back(node.span());
  const auto names = taken_out(model);
  for (const Kind kind : {Kind::kFunction, Kind::kClass}) {
    for (const Node definition : model.nodes(kind)) {
      if (names.contains(definition.child(Field::kName).text()) ||
          is_decorated_so(model, definition))
        stand_alones_.push_back(definition.span());
    }
  }
}

bool Bindable::runs_on_import(std::uint32_t offset) const {
  // What an import statement imports is no use of a name.
  if (std::any_of(imports_.begin(), imports_.end(), [&](const base::Span& span) {
        return span.start <= offset && offset < span.end;
      }))
    return false;
  const auto after =
      std::upper_bound(bodies_.begin(), bodies_.end(), offset,
                       [](std::uint32_t at, const base::Span& body) { return at < body.start; });
  return after == bodies_.begin() || offset >= std::prev(after)->end;
}

bool Bindable::stands_alone(std::uint32_t offset) const {
  return std::any_of(stand_alones_.begin(), stand_alones_.end(), [&](const base::Span& span) {
    return span.start <= offset && offset < span.end;
  });
}

bool Bindable::holds(const Fix& fix) const {
  std::vector<std::string_view> names;
  if (fix.needs.module_device) names.push_back(devices_.variable());
  for (const std::string& statement : fix.needs.imports)
    if (!devices_.has_import(statement)) names.push_back(bound_name(statement));
  return std::none_of(fix.edits.begin(), fix.edits.end(), [&](const edit::Edit& edit) {
    const std::uint32_t at = edit.span.start;
    return ((at < devices_.insertion_point() && runs_on_import(at)) || stands_alone(at)) &&
           std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return base::contains_word(edit.text, name); });
  });
}

}  // namespace torchport::rules
