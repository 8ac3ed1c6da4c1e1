// Represents a finding as reports and caches need it: with a path, lines and columns, and without
// nodes. A finding itself points into a tree, which is destroyed when its file is done.
//
// Lines and columns are one-based. Columns count characters. The end is exclusive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "source/edit/device_source.h"
#include "source/edit/edit.h"
#include "source/rules/rule.h"

namespace torchport::project {

// One replacement of a fix; an empty range inserts.
struct TextEdit {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::uint32_t end_line = 1;
  std::uint32_t end_column = 1;
  std::string text;

  [[nodiscard]] bool operator==(const TextEdit&) const = default;
};

// Lines and columns are one-based; columns count characters; the end is exclusive.
struct Diagnostic {
  std::string code;
  std::string name;
  std::string family;
  rules::Severity severity = rules::Severity::kError;
  std::string path;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::uint32_t end_line = 1;
  std::uint32_t end_column = 1;
  std::string message;
  std::string source_line;  // the line on which it starts, cut at 400 bytes
  bool has_fix = false;
  edit::Applicability applicability = edit::Applicability::kDisplay;
  std::string fix_title;
  // What the fix changes if it is applied alone, with what it needs elsewhere in the file; in
  // order, without overlaps. Empty if it cannot be written so (a notebook).
  std::vector<TextEdit> fix_edits;
  // It is void if one of these holds (rules::Finding::unless).
  std::vector<flow::Condition> unless;
  // What lowers its fix (rules::Finding::lowered).
  std::vector<rules::Lowering> lowered = {};
};

// Lowers the diagnostic's fix.
void lower_fix(Diagnostic& diagnostic, const rules::Lowering& lowering);

[[nodiscard]] Diagnostic make_diagnostic(const rules::Finding& finding, std::string_view path,
                                         const base::LineIndex& lines);

// The edits of a fix that is applied alone. `devices` is that of a Python file, else nullptr. Empty
// if what the fix needs would lie inside of what it replaces, or a text is not UTF-8.
[[nodiscard]] std::vector<TextEdit> edits_alone(const edit::Fix& fix,
                                                const edit::DeviceSource* devices,
                                                const base::LineIndex& lines);

[[nodiscard]] std::string_view severity_name(rules::Severity severity);
// What `torchport explain` prints: a rule's title, summary and page, in Markdown.
[[nodiscard]] std::string explanation(const rules::RuleInfo& rule);

// Writes the diagnostics of one file, without the path, as a compact text for the cache.
[[nodiscard]] std::string pack(const std::vector<Diagnostic>& diagnostics);
// Reads a text of pack(). Returns false for any other text.
[[nodiscard]] bool unpack(std::string_view packed, std::string_view path,
                          std::vector<Diagnostic>& diagnostics);

}  // namespace torchport::project
