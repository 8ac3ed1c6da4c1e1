#include "source/project/examination.h"

#include <fmt/format.h>

namespace torchport::project {

namespace {

using base::ErrorCode;

void add_problem(Examination& result, base::Error error) {
  error.path = result.path;
  result.problems.push_back(std::move(error));
}

void note_surplus(Examination& result) {
  if (result.findings.size() < rules::kMaxFindings) return;
  add_problem(result,
              {ErrorCode::kBudget,
               fmt::format("has more than {} findings; the rest is left out", rules::kMaxFindings),
               {},
               0});
}

void examine_program(Examination& result, std::string program, const CheckOptions& options,
                     rules::Deadline& deadline) {
  auto tree = syntax::Tree::parse(std::move(program), rules::parse_limits(result.path, &deadline));
  if (!tree) {
    add_problem(result, tree.error());
    return;
  }
  result.tree = std::move(*tree);
  result.model = std::make_unique<rules::SemanticModel>(result.tree);
  result.devices = std::make_unique<edit::DeviceSource>(*result.model, result.settings);
  result.findings = rules::examine_python(
      {result.path, *result.model, *result.devices, result.settings, options.project},
      options.selection, &deadline);
}

void examine_python_file(Examination& result, std::string source, const CheckOptions& options,
                         rules::Deadline& deadline) {
  examine_program(result, std::move(source), options, deadline);
  if (!result.tree) return;
  if (result.tree->has_syntax_error()) {
    add_problem(result, {ErrorCode::kSyntax,
                         "cannot be read as Python 3 from here; the file is checked as far "
                         "as possible and never edited",
                         {},
                         result.tree->lines().at(result.tree->syntax_error_offset()).line});
  }
  note_surplus(result);
  if (deadline.passed) {
    add_problem(result, {ErrorCode::kBudget,
                         fmt::format("skipped: not finished within {} ms", kFileBudget.count()),
                         {},
                         0});
  }
}

void examine_notebook(Examination& result, std::string source, const CheckOptions& options,
                      rules::Deadline& deadline) {
  auto notebook = syntax::Notebook::parse(std::move(source));
  if (!notebook) {
    add_problem(result, notebook.error());
    return;
  }
  result.notebook = std::move(*notebook);
  examine_program(result, result.notebook->program(), options, deadline);
  if (!result.tree) return;
  if (result.tree->has_syntax_error()) {
    const base::LineIndex lines(result.notebook->json());
    const std::uint32_t offset = result.notebook->json_offset(result.tree->syntax_error_offset());
    add_problem(result,
                {ErrorCode::kSyntax,
                 "a code cell cannot be read as Python 3 from here; the notebook is never edited",
                 {},
                 lines.at(offset).line});
  }
  if (deadline.passed)
    add_problem(result, {ErrorCode::kBudget, "skipped: takes too long to check", {}, 0});
}

void examine_other_file(Examination& result, std::string source, const CheckOptions& options) {
  result.text = std::move(source);
  const base::LineIndex lines(result.text);
  result.findings = rules::examine_text(
      {result.path, result.kind, result.text, lines, result.settings}, options.selection);
  note_surplus(result);
}

}  // namespace

std::unique_ptr<Examination> examine_source(const std::string& path, std::string source,
                                            const CheckOptions& options,
                                            rules::Deadline& deadline) {
  auto result = std::make_unique<Examination>();
  result->path = path;
  result->kind = rules::kind_of_path(path);
  result->settings = options.settings;
  if (options.selection.empty()) return result;
  switch (result->kind) {
    case rules::FileKind::kNotebook:
      examine_notebook(*result, std::move(source), options, deadline);
      break;
    case rules::FileKind::kPython:
    case rules::FileKind::kOther:
      examine_python_file(*result, std::move(source), options, deadline);
      break;
    default:
      examine_other_file(*result, std::move(source), options);
  }
  return result;
}

}  // namespace torchport::project
