#include "source/server/analysis.h"

#include <algorithm>

#include "source/server/uri.h"

namespace torchport::server {

namespace {

// The file's path, or a name for a document without a file.
std::string path_or_name(const Source& source) {
  if (auto path = path_of_uri(source.uri)) return *path;
  std::string name(base::file_name(source.uri));
  if (const auto colon = name.find(':'); colon != std::string::npos) name.erase(0, colon + 1);
  if (source.is_notebook && !name.ends_with(".ipynb")) name += ".ipynb";
  return name.empty() ? "untitled" : name;
}

// A notebook with these cells, as check would read it from a file.
std::string notebook_json(const Source& source) {
  Json cells = Json::array();
  for (const SnapshotPtr& part : source.parts)
    cells.push_back({{"cell_type", "code"}, {"source", part->text}});
  return Json{{"cells", std::move(cells)}, {"metadata", Json::object()}, {"nbformat", 4}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

// Whether the text of an open document is what check reads from the file.
bool is_checked(const Source& source, rules::FileKind kind) {
  if (source.is_notebook) return kind == rules::FileKind::kNotebook;
  if (kind == rules::FileKind::kNotebook) return false;  // the JSON of a notebook is left alone
  return kind != rules::FileKind::kOther || source.parts.front()->language == "python";
}

}  // namespace

std::unique_ptr<const Analysis> Analysis::make(Source source, Workspace& workspace,
                                               const Job::Stop& stop) {
  std::unique_ptr<Analysis> result(new Analysis);
  result->generation_ = workspace.generation();
  result->source_ = std::move(source);
  const Source& own = result->source_;
  for (const SnapshotPtr& part : own.parts) result->lines_.emplace_back(part->text);
  const std::string path = path_or_name(own);
  if (!is_checked(own, rules::kind_of_path(path))) return result;
  result->plan_ = workspace.plan_for(path);
  if (!result->plan_) return result;
  const FilePlan& plan = *result->plan_;
  std::string text = own.is_notebook ? notebook_json(own) : own.parts.front()->text;
  if (!rules::may_matter(plan.path, text)) return result;
  rules::Deadline deadline = project::file_deadline();
  deadline.stop = &stop;
  result->examined_ = project::examine_source(plan.path, std::move(text), plan.options, deadline);
  if (stop) return nullptr;
  return result;
}

bool Analysis::is_of(const Source& source, const Workspace& workspace) const {
  return generation_ == workspace.generation() && source_.is_same(source);
}

std::optional<DeviceQuestion> Analysis::device_question() const {
  if (examined_ == nullptr || examined_->model == nullptr) return std::nullopt;
  return DeviceQuestion{*examined_->model, plan_->path, plan_->callers.get()};
}

const std::string& Analysis::file_text() const {
  return examined_->notebook ? examined_->notebook->json() : source_.parts.front()->text;
}

std::vector<std::string> Analysis::parts_of_file(const std::string& file_text) const {
  if (!source_.is_notebook) return {file_text};
  const auto notebook = syntax::Notebook::parse(file_text);
  std::vector<std::string> texts;
  if (notebook) texts = notebook->cell_texts();
  if (texts.size() != source_.parts.size()) texts.clear();
  return texts;
}

std::vector<std::string> Analysis::parts_of_code(const std::string& code) const {
  if (!source_.is_notebook) return {code};
  const auto json = examined_->notebook->with_program(code);
  return json ? parts_of_file(*json) : std::vector<std::string>();
}

PartSpan Analysis::place(base::Span code) const {
  if (!examined_->notebook) return {0, code};
  const auto start = examined_->notebook->cell_offset(code.start);
  const auto end = examined_->notebook->cell_offset(code.end);
  const std::size_t part = std::min(start.cell, source_.parts.size() - 1);
  return {part, {start.offset, end.cell == start.cell ? end.offset : start.offset}};
}

std::optional<std::uint32_t> Analysis::code_offset(std::size_t part, std::uint32_t offset) const {
  if (!examined_) return std::nullopt;
  if (!examined_->notebook) return offset;
  return examined_->notebook->program_offset({part, offset});
}

std::optional<std::size_t> Analysis::part_named(std::string_view uri) const {
  for (std::size_t i = 0; i < source_.parts.size(); ++i)
    if (source_.parts[i]->uri == uri) return i;
  return std::nullopt;
}

}  // namespace torchport::server
