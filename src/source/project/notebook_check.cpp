#include "source/project/notebook_check.h"

#include "source/syntax/notebook.h"

namespace torchport::project {

namespace {

tl::unexpected<base::Error> at_path(base::Error error, const std::string& path) {
  error.path = path;
  return tl::unexpected<base::Error>(std::move(error));
}

}  // namespace

FileFindings check_notebook(const std::string& path, const std::string& source,
                            const CheckOptions& options, rules::Deadline* deadline) {
  FileFindings result;
  auto notebook = syntax::Notebook::parse(source);
  if (!notebook) {
    result.problems.push_back(at_path(notebook.error(), path).value());
    return result;
  }
  auto tree = syntax::Tree::parse(notebook->program(), rules::parse_limits(path, deadline));
  if (!tree) {
    result.problems.push_back(at_path(tree.error(), path).value());
    return result;
  }
  const base::LineIndex lines(notebook->json());
  if ((*tree)->has_syntax_error()) {
    const std::uint32_t offset = notebook->json_offset((*tree)->syntax_error_offset());
    result.problems.push_back(
        {base::ErrorCode::kSyntax,
         "a code cell cannot be read as Python 3 from here; the notebook is never edited", path,
         lines.at(offset).line});
  }
  const rules::SemanticModel model(*tree);
  const edit::DeviceSource devices(model, options.settings);
  for (rules::Finding& finding :
       rules::examine_python({path, model, devices, options.settings, options.project},
                             options.selection, deadline)) {
    finding.span = {notebook->json_offset(finding.span.start),
                    notebook->json_offset(finding.span.end)};
    result.diagnostics.push_back(make_diagnostic(finding, path, lines));
  }
  const bool late = deadline != nullptr && deadline->passed;
  if (options.project == nullptr && !late) result.facts = flow::collect_facts(model);
  if (late)
    result.problems.push_back(
        {base::ErrorCode::kBudget, "skipped: takes too long to check", path, 0});
  return result;
}

base::Result<rules::Converged> converge_notebook(const std::string& path, const std::string& source,
                                                 const CheckOptions& options,
                                                 edit::Applicability tier,
                                                 rules::Deadline* deadline) {
  auto notebook = syntax::Notebook::parse(source);
  if (!notebook) return at_path(notebook.error(), path);
  auto fixed = rules::converge_python(path, notebook->program(), options.selection,
                                      options.settings, tier, deadline, options.project);
  if (!fixed) return at_path(fixed.error(), path);
  fixed->left.reset();  // these are findings of the program, not of the file
  if (fixed->text == notebook->program()) {
    fixed->text = source;
    return fixed;
  }
  auto json = notebook->with_program(fixed->text);
  if (!json) return at_path(json.error(), path);
  fixed->text = std::move(*json);
  return fixed;
}

}  // namespace torchport::project
