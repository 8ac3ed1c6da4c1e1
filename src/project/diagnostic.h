// A finding as reports and caches see it: paths, lines and columns, no nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edit/edit.h"
#include "rules/rule.h"

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
  std::string source_line;  // the line it starts on
  bool has_fix = false;
  edit::Applicability applicability = edit::Applicability::kDisplay;
  std::string fix_title;
};

}  // namespace torchport::project
