#include "source/rules/harm.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "source/rules/registry.h"

namespace torchport::rules {

namespace {

// What fixes write of Python's own names.
constexpr auto kBuiltins = std::to_array<std::string_view>(
    {"getattr",  "hasattr", "isinstance", "int",   "float",       "str",          "bool",
     "len",      "max",     "min",        "range", "list",        "tuple",        "dict",
     "set",      "next",    "iter",       "any",   "all",         "print",        "super",
     "type",     "zip",     "enumerate",  "self",  "ImportError", "RuntimeError", "AttributeError",
     "Exception"});

// Whether an identifier reads a name, and is no attribute, keyword, or part of an import.
bool is_read(Node name) {
  if (name.field() == Field::kAttributeName || name.field() == Field::kLeft) return false;
  if (name.parent().is(Kind::kKeywordArgument)) return name.field() != Field::kName;
  for (Node up = name.parent(); up; up = up.parent()) {
    if (up.is_any(Kind::kImport, Kind::kImportFrom, Kind::kParameters, Kind::kLambdaParameters))
      return false;
    if (up.is_any(Kind::kBlock, Kind::kModule)) break;
  }
  return true;
}

std::set<std::string_view> names_without_value(const SemanticModel& model) {
  std::set<std::string_view> names;
  for (const Node name : model.nodes(Kind::kIdentifier))
    if (!model.scopes().owner(name.text(), name) && is_read(name)) names.insert(name.text());
  return names;
}

// How often each rule about tensors on two devices has a finding.
std::map<std::string_view, int> mismatches(const PythonContext& context, Deadline* deadline) {
  static const Selection kAbout = [] {
    Selection rules;
    for (const Rule& rule : all_rules())
      if (rule.info.family == "mismatch" && rule.python != nullptr) rules.push_back(&rule);
    return rules;
  }();
  std::map<std::string_view, int> counts;
  if (kAbout.empty()) return counts;
  for (const Finding& finding : examine_python(context, kAbout, deadline))
    ++counts[finding.rule->code];
  return counts;
}

}  // namespace

std::optional<std::string> harm_of(const PythonContext& before, const PythonContext& after,
                                   Applicability tier, Deadline* deadline) {
  const auto known = names_without_value(before.model);
  if (after.model.scopes().wildcards().empty()) {
    for (const std::string_view name : names_without_value(after.model))
      if (!known.contains(name) && !base::one_of(kBuiltins, name))
        return fmt::format("`{}` would have no value", name);
  }
  if (tier != Applicability::kSafe) return std::nullopt;
  auto were = mismatches(before, deadline);
  for (const auto& [code, count] : mismatches(after, deadline))
    if (count > were[code])
      return fmt::format("{} would find one more tensor on another device", code);
  return std::nullopt;
}

}  // namespace torchport::rules
