// Writes workflow commands, which GitHub shows beside the changed lines.
#include <map>

#include <fmt/format.h>

#include "source/report/report.h"

namespace torchport::report::github {

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

std::string annotation(const project::Diagnostic& d) {
  const std::string fix = d.has_fix ? " Fix: " + d.fix_title + "." : "";
  return fmt::format("::{} file={},line={},col={},endLine={},endColumn={},title={}::{}\n",
                     project::severity_name(d.severity), escape(d.path, true), d.line, d.column,
                     d.end_line, d.end_column, escape(fmt::format("{} {}", d.code, d.name), true),
                     escape(d.message + fix, false));
}

std::string annotation(const base::Error& problem) {
  return fmt::format("::warning file={},line={},title=not checked::{}\n",
                     escape(problem.path, true), problem.line == 0 ? 1 : problem.line,
                     escape(problem.message, false));
}

struct Group {
  std::size_t findings = 0;
  std::string text;
};

std::string render(const Input& input) {
  std::map<std::string_view, Group> files;
  for (const auto& d : input.report.diagnostics) {
    Group& group = files[d.path];
    ++group.findings;
    group.text += annotation(d);
  }
  for (const auto& problem : input.report.problems) files[problem.path].text += annotation(problem);
  std::string text;
  for (const auto& [path, group] : files) {
    text += fmt::format(
        "::group::{}: {}\n{}::endgroup::\n", escape(path, false),
        group.findings == 0 ? "not checked fully" : counted(group.findings, "finding"), group.text);
  }
  return text +
         fmt::format(
             "Found {} in {}.\n",
             counted(input.report.diagnostics.size(), input.known > 0 ? "new finding" : "finding"),
             counted(input.report.files, "file")) +
         left_out(input);
}

const FormatRegistration kRegistered{{"github", "annotations for GitHub Actions", &render}};

}  // namespace

}  // namespace torchport::report::github
