// A finding as reports and caches see it: paths, lines and columns, no nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "source/edit/edit.h"
#include "source/rules/rule.h"

namespace torchport::project {

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
  std::string source_line;  // the line it starts on, at most 400 bytes of it
  bool has_fix = false;
  edit::Applicability applicability = edit::Applicability::kDisplay;
  std::string fix_title;
};

[[nodiscard]] Diagnostic make_diagnostic(const rules::Finding& finding, std::string_view path,
                                         const base::LineIndex& lines);

[[nodiscard]] std::string_view severity_name(rules::Severity severity);

// For the cache: a compact text of the diagnostics of one file, without the path.
[[nodiscard]] std::string pack(const std::vector<Diagnostic>& diagnostics);
// False when the text is not what pack() writes.
[[nodiscard]] bool unpack(std::string_view packed, std::string_view path,
                          std::vector<Diagnostic>& diagnostics);

}  // namespace torchport::project
