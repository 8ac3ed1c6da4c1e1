// Holds one file's bytes with everything that the rules found in them: the tree, the model and the
// findings with their fixes. check turns it into diagnostics and drops it; the language server
// keeps it, because hovers and quick fixes ask for the rest.
//
// An Examination belongs to one thread, like the model in it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/project/check.h"
#include "source/syntax/notebook.h"

namespace torchport::project {

struct Examination {
  Examination() = default;
  Examination(const Examination&) = delete;
  Examination& operator=(const Examination&) = delete;

  std::string path;
  rules::FileKind kind = rules::FileKind::kOther;
  edit::Settings settings;
  std::string text;                          // of a file that is not Python; empty otherwise
  std::optional<syntax::Notebook> notebook;  // whose program is the tree's source
  std::shared_ptr<const syntax::Tree> tree;  // of Python; null if it could not be parsed
  std::unique_ptr<rules::SemanticModel> model;
  std::unique_ptr<edit::DeviceSource> devices;
  // Spans are offsets in code().
  std::vector<rules::Finding> findings;
  std::vector<base::Error> problems;

  // What the rules read: the Python program, or the text.
  [[nodiscard]] const std::string& code() const { return tree ? tree->source() : text; }
};

// Examines one file's bytes with the rules of the selection; an empty selection finds nothing.
// `path` is used in problems, and decides what kind of file it is. Thread safe.
[[nodiscard]] std::unique_ptr<Examination> examine_source(const std::string& path,
                                                          std::string source,
                                                          const CheckOptions& options,
                                                          rules::Deadline& deadline);

}  // namespace torchport::project
