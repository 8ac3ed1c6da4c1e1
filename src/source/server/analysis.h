// Holds what is known of one state of a document: its findings, its tree and its model, and where
// they are in the texts that the client sees. For a document that is the document itself; a
// notebook is one program, and the client sees its cells.
//
// It belongs to the worker's thread, like the model in it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/project/examination.h"
#include "source/server/device_fact.h"
#include "source/server/documents.h"
#include "source/server/jobs.h"
#include "source/server/workspace.h"

namespace torchport::server {

// A range in one part of a source.
struct PartSpan {
  std::size_t part = 0;
  base::Span span;
};

class Analysis {
 public:
  // Checks a source. Returns null if it was stopped.
  [[nodiscard]] static std::unique_ptr<const Analysis> make(Source source, Workspace& workspace,
                                                            const Job::Stop& stop);

  [[nodiscard]] const Source& source() const { return source_; }
  // Whether this is still what a new analysis would be.
  [[nodiscard]] bool is_of(const Source& source, const Workspace& workspace) const;

  // What was examined; null if the project excludes the file, or if it is not a file that
  // `torchport check` reads.
  [[nodiscard]] const project::Examination* examined() const { return examined_.get(); }
  // How the file is checked. REQUIRED: examined() is not null.
  [[nodiscard]] const FilePlan& plan() const { return *plan_; }
  // What device facts are looked up in; none if no program was examined.
  [[nodiscard]] std::optional<DeviceQuestion> device_question() const;
  // The bytes that `torchport check` would read from the file.
  [[nodiscard]] const std::string& file_text() const;
  // The texts of the parts, from another text of the file.
  [[nodiscard]] std::vector<std::string> parts_of_file(const std::string& file_text) const;
  // The same, from another program or text in place of examined()->code(). Empty if it does not fit
  // the notebook.
  [[nodiscard]] std::vector<std::string> parts_of_code(const std::string& code) const;

  [[nodiscard]] PartSpan place(base::Span code) const;
  // The offset in examined()->code() of a place in a part.
  [[nodiscard]] std::optional<std::uint32_t> code_offset(std::size_t part,
                                                         std::uint32_t offset) const;
  // The part with this URI.
  [[nodiscard]] std::optional<std::size_t> part_named(std::string_view uri) const;
  [[nodiscard]] const base::LineIndex& lines(std::size_t part) const { return lines_[part]; }

 private:
  Analysis() = default;

  Source source_;
  std::vector<base::LineIndex> lines_;  // of the parts
  std::uint64_t generation_ = 0;
  std::optional<FilePlan> plan_;
  std::unique_ptr<project::Examination> examined_;
};

}  // namespace torchport::server
