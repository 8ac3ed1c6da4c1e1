#include "source/server/documents.h"

#include <algorithm>

namespace torchport::server {

bool Source::is_same(const Source& other) const {
  return uri == other.uri && parts == other.parts;
}

std::string changed_text(std::string text, const std::vector<TextChange>& changes,
                         Encoding encoding) {
  for (const TextChange& change : changes) {
    if (!change.range) {
      text = change.text;
      continue;
    }
    const base::LineIndex lines(text);
    const std::uint32_t a = offset_at(lines, change.range->first, encoding);
    const std::uint32_t b = offset_at(lines, change.range->second, encoding);
    const std::uint32_t start = std::min(a, b);
    text.replace(start, std::max(a, b) - start, change.text);
  }
  return text;
}

std::vector<TextChange> read_changes(const Json& json) {
  std::vector<TextChange> changes;
  for (const Json& item : json) {
    TextChange& change = changes.emplace_back();
    change.text = item.at("text").get<std::string>();
    if (const auto range = item.find("range"); range != item.end() && !range->is_null())
      change.range.emplace(read_position(range->at("start")), read_position(range->at("end")));
  }
  return changes;
}

void Documents::open(const std::string& uri, std::string language, std::int64_t version,
                     std::string text) {
  const std::lock_guard lock(mutex_);
  open_[uri] = std::make_shared<const Snapshot>(
      Snapshot{uri, std::move(language), version, ++serials_, std::move(text)});
}

bool Documents::change(const std::string& uri, std::int64_t version,
                       const std::vector<TextChange>& changes, Encoding encoding) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(uri);
  if (found == open_.end()) return false;
  Snapshot next = *found->second;
  next.version = version;
  next.serial = ++serials_;
  next.text = changed_text(std::move(next.text), changes, encoding);
  found->second = std::make_shared<const Snapshot>(std::move(next));
  return true;
}

void Documents::close(const std::string& uri) {
  const std::lock_guard lock(mutex_);
  open_.erase(uri);
}

void Documents::set_notebook(const std::string& uri, std::vector<std::string> cells) {
  const std::lock_guard lock(mutex_);
  std::erase_if(notebook_of_, [&](const auto& entry) { return entry.second == uri; });
  for (const std::string& cell : cells) notebook_of_[cell] = uri;
  notebooks_[uri] = std::move(cells);
}

std::vector<std::string> Documents::notebook_cells(const std::string& uri) const {
  const std::lock_guard lock(mutex_);
  const auto found = notebooks_.find(uri);
  return found == notebooks_.end() ? std::vector<std::string>() : found->second;
}

void Documents::close_notebook(const std::string& uri) {
  const std::lock_guard lock(mutex_);
  const auto found = notebooks_.find(uri);
  if (found == notebooks_.end()) return;
  for (const std::string& cell : found->second) {
    open_.erase(cell);
    notebook_of_.erase(cell);
  }
  notebooks_.erase(found);
}

Source Documents::notebook_source(const std::string& uri) const {
  Source source{uri, true, {}};
  for (const std::string& cell : notebooks_.find(uri)->second) {
    const auto found = open_.find(cell);
    if (found != open_.end() && found->second->language == "python")
      source.parts.push_back(found->second);
  }
  return source;
}

std::optional<Source> Documents::source_of(const std::string& uri) const {
  const std::lock_guard lock(mutex_);
  if (notebooks_.contains(uri)) return notebook_source(uri);
  if (const auto cell = notebook_of_.find(uri); cell != notebook_of_.end())
    return notebook_source(cell->second);
  const auto found = open_.find(uri);
  if (found == open_.end()) return std::nullopt;
  return Source{uri, false, {found->second}};
}

std::vector<std::string> Documents::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> uris;
  for (const auto& [uri, snapshot] : open_)
    if (!notebook_of_.contains(uri)) uris.push_back(uri);
  for (const auto& [uri, cells] : notebooks_) uris.push_back(uri);
  return uris;
}

}  // namespace torchport::server
