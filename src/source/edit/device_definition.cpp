// Writes the text that a device source inserts into a module: the expression, the variable, the
// imports.
#include <algorithm>

#include <fmt/format.h>

#include "devices/device_kind.h"
#include "source/edit/device_source.h"
#include "source/edit/imports.h"
#include "source/edit/quotes.h"
#include "source/edit/trial.h"
#include "source/semantics/visible_devices.h"

namespace torchport::edit {

using syntax::Kind;
using syntax::Node;

std::vector<const devices::DeviceKind*> classic_chain(TorchVersion min_torch) {
  std::vector<const devices::DeviceKind*> chain;
  for (const devices::DeviceKind& kind : devices::kinds()) {
    const devices::Availability& asked = kind.availability;
    const TorchVersion since{static_cast<std::uint16_t>(asked.since_major),
                             static_cast<std::uint16_t>(asked.since_minor)};
    if (asked.in_classic_chain && min_torch >= since) chain.push_back(&kind);
  }
  return chain;
}

std::vector<const devices::DeviceKind*> DeviceSource::chain() const {
  auto kinds = classic_chain(settings_.min_torch);
  if (only_cuda_)
    std::erase_if(kinds, [](const devices::DeviceKind* kind) { return kind->name != "cuda"; });
  return kinds;
}

bool DeviceSource::uses_accelerator() const {
  return settings_.uses_accelerator() && !(only_cuda_ && settings_.idiom == Idiom::kAuto);
}

bool DeviceSource::may_be(std::string_view kind) const {
  const auto asked = chain();
  return uses_accelerator() || settings_.idiom == Idiom::kHelper ||
         std::any_of(asked.begin(), asked.end(),
                     [&](const devices::DeviceKind* one) { return one->name == kind; });
}

std::string DeviceSource::inline_expression(bool as_string) const {
  if (settings_.idiom == Idiom::kHelper && !settings_.helper.empty() && !as_string) {
    return fmt::format("{}()", settings_.helper.substr(settings_.helper.find(':') + 1));
  }
  return choice(as_string, uses_accelerator(), chain());
}

std::string DeviceSource::any_accelerator(bool as_string) const {
  if (settings_.idiom == Idiom::kHelper) return inline_expression(as_string);
  return choice(as_string, settings_.uses_accelerator(), classic_chain(settings_.min_torch));
}

std::string DeviceSource::choice(bool as_string, bool by_accelerator,
                                 const std::vector<const devices::DeviceKind*>& asked) const {
  if (by_accelerator) {
    return as_string ? fmt::format(
                           "{0}.accelerator.current_accelerator().type if "
                           "{0}.accelerator.is_available() else \"cpu\"",
                           torch_.name)
                     : fmt::format(
                           "{0}.accelerator.current_accelerator() if "
                           "{0}.accelerator.is_available() else {0}.device(\"cpu\")",
                           torch_.name);
  }
  std::string text;
  for (const devices::DeviceKind* kind : asked)
    text += fmt::format("\"{}\" if {}.{} else ", kind->name, torch_.name,
                        kind->availability.expression);
  text += "\"cpu\"";
  return as_string ? text : fmt::format("{}.device({})", torch_.name, text);
}

std::string DeviceSource::definition(bool shared) const {
  if (shared) return fmt::format("{} = {}()\n", variable_, settings_.shared.name);
  if (settings_.idiom == Idiom::kHelper && !settings_.helper.empty()) {
    return fmt::format("{} = {}\n", variable_, inline_expression(false));
  }
  if (uses_accelerator()) {
    return fmt::format(
        "{0} = (\n    {1}.accelerator.current_accelerator()\n    if "
        "{1}.accelerator.is_available()\n    else {1}.device(\"cpu\")\n)\n",
        variable_, torch_.name);
  }
  const auto asked = chain();
  if (asked.size() < 2) return fmt::format("{} = {}\n", variable_, inline_expression(false));
  std::string text = fmt::format("{} = {}.device(\n    ", variable_, torch_.name);
  for (const devices::DeviceKind* kind : asked)
    text += fmt::format("\"{}\" if {}.{}\n    else ", kind->name, torch_.name,
                        kind->availability.expression);
  return text + "\"cpu\"\n)\n";
}

bool DeviceSource::has_import(std::string_view statement) const {
  return imports_.contains(statement) || (statement == "import torch" && bool(torch_.statement));
}

bool DeviceSource::uses_helper() const {
  return settings_.idiom == Idiom::kHelper && !settings_.helper.empty();
}

// Before what the module imports of torch; otherwise before the package's own modules.
std::uint32_t DeviceSource::torch_import_point() const {
  const Node root = model_.tree().root();
  const Node part = torch_.first_of_torch;
  if (part.parent() == root && part.start() < insertion_point() && starts_line(part))
    return part.start();
  Node before;
  for (Node node = root.first_child(); node && node.start() < insertion_point();
       node = node.next_sibling()) {
    if (node.is(Kind::kImportFrom) &&
        node.child(syntax::Field::kModuleName).is(Kind::kRelativeImport)) {
      return before.is_any(Kind::kImport, Kind::kImportFrom) ? next_line(model_.tree(), before)
                                                             : insertion_point();
    }
    before = node;
  }
  return insertion_point();
}

std::string DeviceSource::shared_import() const {
  const SharedDevice& shared = settings_.shared;
  return fmt::format("from {} import {}{}\n", shared.module, shared.name,
                     shared.function || shared.name == variable_ ? "" : " as " + variable_);
}

bool DeviceSource::has_import_of_shared() const {
  const auto& bindings = model_.scopes().module_level(settings_.shared.name);
  return bindings.size() == 1 && is_import_of_shared(*bindings.front());
}

// In its order among what the module imports of its package at its top.
std::optional<std::uint32_t> DeviceSource::shared_import_point() const {
  const std::string_view from = settings_.shared.module;
  const std::string_view top = from.substr(0, from.find('.') + 1);  // "." or "pkg."
  Node last;
  for (Node node = model_.tree().root().first_child(); node && node.start() < insertion_point();
       node = node.next_sibling()) {
    if (!node.is(Kind::kImportFrom) || !starts_line(node)) continue;
    const std::string_view module = node.child(syntax::Field::kModuleName).text();
    if (!module.starts_with(top) && module != top.substr(0, top.size() - 1)) continue;
    if (module > from) return node.start();
    last = node;
  }
  if (!last) return std::nullopt;
  return std::min(next_line(model_.tree(), last), insertion_point());
}

namespace {

// The text with the line ends of the file in place of "\n".
std::string with_line_ends(std::string_view text, std::string_view newline) {
  std::string result;
  for (const char c : text) {
    if (c == '\n')
      result += newline;
    else
      result += c;
  }
  return result;
}

// What stands before a statement in its line.
std::string_view before_in_line(Node statement) {
  const std::string_view source = statement.tree()->source();
  const auto& lines = statement.tree()->lines();
  const std::uint32_t start = lines.line_start(lines.at(statement.start()).line);
  return source.substr(start, statement.start() - start);
}

// The lines before a statement, indented like it.
Edit lines_before(Node statement, std::string_view lines, std::string_view newline) {
  const std::string_view indentation = before_in_line(statement);
  const auto start = static_cast<std::uint32_t>(statement.start() - indentation.size());
  std::string text;
  for (const std::string_view line : base::split(lines, '\n'))
    if (!line.empty()) text += fmt::format("{}{}{}", indentation, line, newline);
  return {{start, start}, std::move(text)};
}

}  // namespace

Node DeviceSource::statement_behind_choice(Node node) const {
  Node function;
  for (Node up = node; up; up = up.parent())
    if (up.is(Kind::kFunction)) function = up;
  if (!function) return {};
  const Node body = function.child(syntax::Field::kBody);
  Node statement = node;
  while (statement && statement.parent() != body) statement = statement.parent();
  if (!statement) return {};
  for (const Kind kind : {Kind::kAssignment, Kind::kCall})
    for (const Node setting : model_.nodes(kind, function))
      if (setting.end() <= statement.start() && syntax::function_of(setting) == function &&
          semantics::sets_visible_devices(model_, setting))
        return statement;
  return {};
}

Node DeviceSource::trial_of(const std::vector<const Fix*>& fixes) const {
  if (variable_defined_ || uses_helper()) return {};
  Node first;
  for (const Fix* fix : fixes) {
    for (const Edit& edit : fix->edits) {
      if (!base::contains_word(edit.text, variable_)) continue;
      const Node at = syntax::node_at(model_.tree(), edit.span.start);
      Node statement = statement_of_trial(at);
      if (!statement) statement = statement_behind_choice(at);
      if (!statement || (first && statement.parent() != first.parent())) return {};
      if (!first || statement.start() < first.start()) first = statement;
    }
  }
  const bool fits = first && insertion_point() <= first.start() &&
                    before_in_line(first).find_first_not_of(" \t") == std::string_view::npos;
  return fits ? first : Node{};
}

std::vector<Edit> DeviceSource::edits_for(const Needs& needs, Node trial) const {
  std::vector<Edit> edits;
  std::string added;
  std::vector<std::string> imports = needs.imports;
  const bool defines = needs.module_device && !variable_defined_;
  const bool in_trial = defines && trial;
  const bool shared = shares_ && defines && !in_trial;
  // A shared module imports torch itself.
  if (needs.module_device && !shared && uses_helper()) {
    const auto colon = settings_.helper.find(':');
    imports.push_back(fmt::format("from {} import {}", settings_.helper.substr(0, colon),
                                  settings_.helper.substr(colon + 1)));
  } else if (needs.module_device && !shared) {
    imports.emplace_back("import torch");
  }
  const std::string_view text = model_.tree().source();
  const std::string_view newline = newline_of(text);
  const std::uint32_t offset = insertion_point();
  const std::uint32_t torch_offset = torch_import_point();
  std::vector<std::string> done;
  for (const std::string& statement : imports) {
    if (has_import(statement) || std::find(done.begin(), done.end(), statement) != done.end())
      continue;
    done.push_back(statement);
    if (auto line = standard_import(model_.tree(), statement)) {
      edits.push_back({{line->offset, line->offset}, with_line_ends(line->text + "\n", newline)});
    } else if (statement == "import torch" && torch_offset != offset)
      edits.push_back({{torch_offset, torch_offset}, fmt::format("{}{}", statement, newline)});
    else
      added += statement + "\n";
  }
  if (!added.empty() && follows_docstring(model_.tree(), offset)) added.insert(0, "\n");
  std::string last;  // lines after a blank one
  if (shared && !has_import_of_shared()) {
    const auto place = shared_import_point();
    if (!place)
      last = "\n" + shared_import();
    else if (*place == offset)
      added += shared_import();
    else
      edits.push_back({{*place, *place}, with_line_ends(shared_import(), newline)});
  }
  const auto variable = [&] { return in_quotes(definition(shared), preferred_quote(model_)); };
  if (in_trial)
    edits.push_back(lines_before(trial, variable(), newline));
  else if (defines && (!shared || settings_.shared.function))
    last += "\n" + variable();
  if (!last.empty()) {
    added += last;
    // Keeps the blank lines between the imports and the code after them.
    const std::string_view rest = text.substr(offset);
    if (!rest.empty() && rest.front() != '\n' && rest.front() != '\r') added += '\n';
  }
  if (added.empty()) return edits;
  if (offset == text.size() && !text.empty() && text.back() != '\n' && text.back() != '\r')
    added.insert(0, "\n");
  if (place_.size() != 0) added.insert(0, "\n");
  edits.push_back({place_, with_line_ends(added, newline)});
  return edits;
}

}  // namespace torchport::edit
