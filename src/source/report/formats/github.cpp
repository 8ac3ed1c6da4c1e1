// Writes workflow commands, which GitHub shows beside the changed lines.
#include <fmt/format.h>

#include "source/report/report.h"

namespace torchport::report {

namespace {

// Escapes a text as the workflow-command syntax demands. In properties ':' and ',' are escaped,
// too.
std::string escape(std::string_view text, bool property) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '%':
        result += "%25";
        break;
      case '\r':
        result += "%0D";
        break;
      case '\n':
        result += "%0A";
        break;
      case ':':
        result += property ? "%3A" : ":";
        break;
      case ',':
        result += property ? "%2C" : ",";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20U && c != '\t' ? '?' : c;
    }
  }
  return result;
}

std::string render(const Input& input) {
  std::string text;
  for (const auto& d : input.report.diagnostics) {
    const std::string fix = d.has_fix ? " Fix: " + d.fix_title + "." : "";
    text +=
        fmt::format("::{} file={},line={},col={},endLine={},endColumn={},title={}::{}\n",
                    project::severity_name(d.severity), escape(d.path, true), d.line, d.column,
                    d.end_line, d.end_column, escape(fmt::format("{} {}", d.code, d.name), true),
                    escape(d.message + fix, false));
  }
  for (const auto& p : input.report.problems) {
    text += fmt::format("::warning file={},line={},title=not checked::{}\n", escape(p.path, true),
                        p.line == 0 ? 1 : p.line, escape(p.message, false));
  }
  return text;
}

const FormatRegistration kRegistered{{"github", "annotations for GitHub Actions", &render}};

}  // namespace

}  // namespace torchport::report
