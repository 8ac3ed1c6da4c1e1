#include "source/rules/bindable.h"

#include <algorithm>
#include <unordered_map>

#include "source/edit/quotes.h"
#include "source/edit/spans.h"
#include "source/edit/stand_alone.h"

namespace torchport::rules {

namespace {

// The name that a statement binds: "import torch.nn as nn" -> "nn", "import os" -> "os".
std::string_view bound_name(std::string_view statement) {
  const std::string_view last = statement.substr(statement.rfind(' ') + 1);
  return last.substr(0, last.find('.'));
}

using Definitions = std::unordered_map<std::string_view, std::vector<Node>>;

// The bodies of the functions and of the methods that code may run by the names in a part of it.
class Mentioned {
 public:
  explicit Mentioned(Definitions definitions) : definitions_(std::move(definitions)) {}

  // Reads the names of a part. A body in it counts once something mentions its function.
  void read(const SemanticModel& model, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i) {
      const Node node = model.tree().at(i);
      if (node.is_any(Kind::kImport, Kind::kImportFrom) ||
          (node.is(Kind::kBlock) && node.parent().is(Kind::kFunction))) {
        i = node.subtree_end() - 1;
      } else if (node.is(Kind::kIdentifier) &&
                 !(node.field() == Field::kName &&
                   node.parent().is_any(Kind::kFunction, Kind::kClass))) {
        mention(model, node.text());
      }
    }
  }

  std::vector<Node> bodies;

 private:
  void mention(const SemanticModel& model, std::string_view name) {
    const auto found = definitions_.find(name);
    if (found == definitions_.end()) return;
    const std::vector<Node> mentioned = std::move(found->second);
    definitions_.erase(found);
    for (const Node definition : mentioned) {
      if (definition.is(Kind::kFunction)) bodies.push_back(definition.child(Field::kBody));
      if (definition.is(Kind::kClass))
        for (const Node method : model.nodes(Kind::kFunction, definition))
          bodies.push_back(method.child(Field::kBody));
    }
  }

  Definitions definitions_;
};

// Whether a text has a word that the text that it replaces has not.
bool brings(std::string_view text, std::string_view replaced, std::string_view word) {
  return base::contains_word(text, word) && !base::contains_word(replaced, word);
}

// Whether a node is in a call that adds an option to a parser of arguments.
bool is_in_option(Node node) {
  for (Node up = node; up && !up.is(Kind::kFunction); up = up.parent())
    if (up.is(Kind::kCall) && syntax::callee(up).text().ends_with("add_argument")) return true;
  return false;
}

}  // namespace

Bindable::Bindable(const PythonContext& context)
    : model_(context.model), devices_(context.devices) {
  std::vector<base::Span> bodies;
  for (const Node function : model_.nodes(Kind::kFunction))
    bodies.push_back(function.child(Field::kBody).span());
  bodies_ = edit::outermost(std::move(bodies));
  std::vector<base::Span> imports;
  for (const Kind kind : {Kind::kImport, Kind::kImportFrom})
    for (const Node node : model_.nodes(kind)) imports.push_back(node.span());
  imports_ = edit::outermost(std::move(imports));
  find_early_bodies();
}

// The functions above the place of the variable that the module's code above it may call.
void Bindable::find_early_bodies() {
  const std::uint32_t limit = std::max(devices_.insertion_point(), devices_.variable_from());
  if (bodies_.empty() || bodies_.front().start >= limit) return;
  Definitions definitions;
  for (const Kind kind : {Kind::kFunction, Kind::kClass})
    for (const Node node : model_.nodes(kind))
      if (node.start() < limit) definitions[node.child(Field::kName).text()].push_back(node);
  Mentioned mentioned(std::move(definitions));
  std::uint32_t end = 1;
  while (end < model_.tree().size() && model_.tree().at(end).start() < limit) ++end;
  mentioned.read(model_, 1, end);
  std::vector<base::Span> early;
  for (std::size_t i = 0; i < mentioned.bodies.size(); ++i) {
    const Node body = mentioned.bodies[i];
    early.push_back(body.span());
    mentioned.read(model_, body.index() + 1, body.subtree_end());
  }
  early_ = edit::outermost(std::move(early));
}

// What an import statement imports is no use of a name.
bool Bindable::runs_on_import(std::uint32_t offset) const {
  return !edit::covers(imports_, offset) &&
         (!edit::covers(bodies_, offset) || edit::covers(early_, offset));
}

// Whether an edit leaves code that is compiled or copied without its module as independent as it
// was.
bool Bindable::stands_alone(const Edit& edit) const {
  const auto& taken = model_.facts<edit::StandAlone>();
  const bool compiled = taken.is_compiled(edit.span.start);
  if (!compiled && !taken.is_copied(edit.span.start)) return true;
  const std::string_view replaced =
      std::string_view(model_.tree().source()).substr(edit.span.start, edit.span.size());
  if (brings(edit.text, replaced, devices_.variable())) return false;
  // TorchScript cannot ask for devices.
  for (const std::string_view word : {"is_available", "accelerator", "device_count", "hasattr"})
    if (compiled && brings(edit.text, replaced, word)) return false;
  const auto& bindings = model_.scopes().of_scope(model_.tree().root());
  return std::none_of(bindings.begin(), bindings.end(), [&](const semantics::Binding* binding) {
    return binding->kind == semantics::BindingKind::kAssign &&
           model_.scopes().owner(binding->name, syntax::node_at(model_.tree(), edit.span.start)) ==
               model_.tree().root() &&
           brings(edit.text, replaced, binding->name);
  });
}

bool Bindable::is_bound(const Fix& fix) const {
  if (fix.needs.module_device && !devices_.can_have_variable()) return false;
  std::vector<std::string_view> names;
  for (const std::string& statement : fix.needs.imports)
    if (!devices_.has_import(statement)) names.push_back(bound_name(statement));
  return std::none_of(fix.edits.begin(), fix.edits.end(), [&](const Edit& edit) {
    const std::uint32_t at = edit.span.start;
    const bool variable = base::contains_word(edit.text, devices_.variable());
    if (variable && at < devices_.variable_from() && runs_on_import(at)) return true;
    return at < devices_.insertion_point() && runs_on_import(at) &&
           std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return base::contains_word(edit.text, name); });
  });
}

bool Bindable::asks_early(const Fix& fix) const {
  if (fix.needs.module_device && !devices_.has_variable()) return true;
  return std::any_of(fix.edits.begin(), fix.edits.end(), [&](const Edit& edit) {
    return edit::asks_for_accelerator(edit.text) &&
           (runs_on_import(edit.span.start) ||
            is_in_option(syntax::node_at(model_.tree(), edit.span.start)));
  });
}

// Code that imports torch by itself needs no import of the module.
void Bindable::drop_own_import(Fix& fix) const {
  if (fix.needs.module_device || fix.edits.empty()) return;
  const bool own = std::all_of(fix.edits.begin(), fix.edits.end(), [&](const Edit& edit) {
    return !base::contains_word(edit.text, devices_.torch_name()) ||
           devices_.has_torch_of_its_own(syntax::node_at(model_.tree(), edit.span.start));
  });
  if (own) std::erase(fix.needs.imports, "import torch");
}

bool Bindable::set_quotes(Fix& fix) const {
  const std::string_view source = model_.tree().source();
  for (Edit& edit : fix.edits) {
    if (edit.text.find_first_of("\"'\n\\") == std::string::npos) continue;
    const auto text = edit::fitted_quotes(model_, edit.span.start, edit.text,
                                          source.substr(edit.span.start, edit.span.size()));
    if (!text) return false;
    if (const auto shown = fix.title.find(edit.text); shown != std::string::npos)
      fix.title.replace(shown, edit.text.size(), *text);
    edit.text = *text;
  }
  return true;
}

bool Bindable::admits(Fix& fix) const {
  if (fix.edits.empty()) return true;
  drop_own_import(fix);
  const bool delayed =
      !devices_.can_have_variable() && std::find(fix.needs.imports.begin(), fix.needs.imports.end(),
                                                 "import torch") != fix.needs.imports.end();
  return !delayed && is_bound(fix) &&
         std::all_of(fix.edits.begin(), fix.edits.end(),
                     [&](const Edit& edit) { return stands_alone(edit); }) &&
         set_quotes(fix);
}

}  // namespace torchport::rules
