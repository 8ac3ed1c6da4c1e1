#include "source/project/notebook_check.h"

#include "source/syntax/notebook.h"

namespace torchport::project {

namespace {

tl::unexpected<base::Error> at_path(base::Error error, const std::string& path) {
  error.path = path;
  return tl::unexpected<base::Error>(std::move(error));
}

}  // namespace

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
