// Writes the text that a device source inserts into a module: the expression, the variable, the
// imports.
#include <algorithm>

#include <fmt/format.h>

#include "devices/device_kind.h"
#include "source/edit/device_source.h"
#include "source/edit/imports.h"

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

std::string DeviceSource::inline_expression(bool as_string) const {
  if (settings_.idiom == Idiom::kHelper && !settings_.helper.empty() && !as_string) {
    return fmt::format("{}()", settings_.helper.substr(settings_.helper.find(':') + 1));
  }
  if (settings_.uses_accelerator()) {
    return as_string ? fmt::format(
                           "{0}.accelerator.current_accelerator().type if "
                           "{0}.accelerator.is_available() else \"cpu\"",
                           torch_)
                     : fmt::format(
                           "{0}.accelerator.current_accelerator() if "
                           "{0}.accelerator.is_available() else {0}.device(\"cpu\")",
                           torch_);
  }
  std::string choice;
  for (const devices::DeviceKind* kind : classic_chain(settings_.min_torch))
    choice +=
        fmt::format("\"{}\" if {}.{} else ", kind->name, torch_, kind->availability.expression);
  choice += "\"cpu\"";
  return as_string ? choice : fmt::format("{}.device({})", torch_, choice);
}

std::string DeviceSource::definition() const {
  if (settings_.idiom == Idiom::kHelper && !settings_.helper.empty()) {
    return fmt::format("{} = {}\n", variable_, inline_expression(false));
  }
  if (settings_.uses_accelerator()) {
    return fmt::format(
        "{0} = (\n    {1}.accelerator.current_accelerator()\n    if "
        "{1}.accelerator.is_available()\n    else {1}.device(\"cpu\")\n)\n",
        variable_, torch_);
  }
  const auto chain = classic_chain(settings_.min_torch);
  if (chain.size() < 2) return fmt::format("{} = {}\n", variable_, inline_expression(false));
  std::string text = fmt::format("{} = {}.device(\n    ", variable_, torch_);
  for (const devices::DeviceKind* kind : chain)
    text += fmt::format("\"{}\" if {}.{}\n    else ", kind->name, torch_,
                        kind->availability.expression);
  return text + "\"cpu\"\n)\n";
}

bool DeviceSource::has_import(std::string_view statement) const {
  const Node root = model_.tree().root();
  for (Node node = root.first_child(); node; node = node.next_sibling()) {
    if (node.is_any(Kind::kImport, Kind::kImportFrom) && node.text() == statement) return true;
  }
  return statement == "import torch" && torch_imported_;
}

std::vector<Edit> DeviceSource::edits_for(const Needs& needs) const {
  std::string added;
  std::vector<std::string> imports = needs.imports;
  if (needs.module_device) imports.emplace_back("import torch");
  if (needs.module_device && settings_.idiom == Idiom::kHelper && !settings_.helper.empty()) {
    const auto colon = settings_.helper.find(':');
    imports.push_back(fmt::format("from {} import {}", settings_.helper.substr(0, colon),
                                  settings_.helper.substr(colon + 1)));
  }
  std::vector<std::string> done;
  for (const std::string& statement : imports) {
    if (has_import(statement) || std::find(done.begin(), done.end(), statement) != done.end())
      continue;
    done.push_back(statement);
    added += statement + "\n";
  }
  const std::string_view text = model_.tree().source();
  const std::uint32_t offset = insertion_point_;
  if (needs.module_device && !variable_defined_) {
    added += "\n" + definition();
    // Keeps the blank lines between the imports and the code after them.
    const std::string_view rest = text.substr(offset);
    if (!rest.empty() && rest.front() != '\n' && rest.front() != '\r') added += '\n';
  }
  if (added.empty()) return {};
  if (offset == text.size() && !text.empty() && text.back() != '\n' && text.back() != '\r')
    added.insert(0, "\n");
  const std::string_view newline = newline_of(text);
  std::string converted;
  for (const char c : added) {
    if (c == '\n')
      converted += newline;
    else
      converted += c;
  }
  return {Edit{{offset, offset}, std::move(converted)}};
}

}  // namespace torchport::edit
