#include "source/server/callers_scan.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "source/server/session.h"

namespace torchport::server {

namespace {

constexpr const char* kCallersName = "callers";  // before "scan"
// A larger folder, such as a home folder, is no project: its files say nothing together.
constexpr std::size_t kMostFiles = 20'000;
constexpr std::chrono::milliseconds kLongestWalk{500};

bool does_step(Session& session) {
  for (auto& [path, callers] : session.callers) {
    if (callers->step()) return true;
    if (auto news = callers->take_news()) {
      session.workspace.set_callers(path, std::move(news));
      session.check_open();
    }
  }
  return false;
}

}  // namespace

FolderCallers::FolderCallers(const base::FileSystem& fs, const Folder& folder) : fs_(fs) {
  restart(folder);
}

void FolderCallers::restart(const Folder& folder) {
  folder_ = folder;
  std::map<std::string, std::optional<flow::FileFacts>> still;
  outdated_.clear();
  project::DiscoveryOptions options = folder.discovery;
  const auto until = std::chrono::steady_clock::now() + kLongestWalk;
  options.stop = [until](std::size_t files) {
    return files > kMostFiles || std::chrono::steady_clock::now() > until;
  };
  auto found = project::discover(fs_, {folder.path}, options);
  if (!found.complete) found.files.clear();
  for (std::string& path : found.files) {
    if (const auto known = known_.find(path); known != known_.end())
      still.insert(known_.extract(known));
    else
      outdated_.insert(std::move(path));
  }
  known_ = std::move(still);
  imports_.clear();
  listed_ = false;
  joined_ = false;
  is_project_ = found.complete;
}

void FolderCallers::outdate(const std::string& path) {
  if (!is_project_) return;
  outdated_.insert(path);
}

void FolderCallers::read_one() {
  const std::string path = outdated_.extract(outdated_.begin()).value();
  imports_.erase(path);
  listed_ = false;
  if (!project::would_discover(fs_, folder_.path, path, folder_.discovery) ||
      fs_.status(path, true).type != base::FileType::kRegular) {
    if (known_.erase(path) > 0) joined_ = false;
    return;
  }
  auto facts = project::facts_of(fs_, path, folder_.options);
  auto& known = known_[path];
  // A file without facts may mention other functions now.
  if (!facts || !known || *facts->packed != *known->packed) joined_ = false;
  known = std::move(facts);
}

void FolderCallers::list_unconnected() {
  unconnected_.clear();
  const bool needed = std::any_of(known_.begin(), known_.end(), [](const auto& file) {
    return file.second && (file.second->sets_visible_devices || file.second->sets_after_imports);
  });
  if (!needed) return;
  for (const auto& [path, facts] : known_)
    if (!facts && !imports_.contains(path)) unconnected_.push_back(path);
}

bool FolderCallers::read_imports() {
  if (!listed_) list_unconnected();
  listed_ = true;
  if (unconnected_.empty()) return false;
  const std::string& path = unconnected_.back();
  imports_[path] = project::imports_of(fs_, {path, std::nullopt}, folder_.options);
  unconnected_.pop_back();
  return true;
}

void FolderCallers::join() {
  std::vector<flow::FileOfProject> files;
  unasked_.clear();
  mentioned_.clear();
  for (const auto& [path, facts] : known_) {
    if (facts)
      files.push_back({folder_.shown(path), *facts});
    else
      unasked_.push_back(path);
  }
  for (const auto& [path, imports] : imports_)
    if (imports) files.push_back({folder_.shown(path), *imports});
  summary_ = std::make_shared<flow::Summary>(std::move(files));
  const auto names = summary_->settled_names();
  wanted_ = {names.begin(), names.end()};
  if (wanted_.empty()) unasked_.clear();
  joined_ = true;
}

void FolderCallers::finish() {
  if (!mentioned_.empty()) summary_->doubt({mentioned_.begin(), mentioned_.end()});
  news_ = std::exchange(summary_, nullptr);
}

bool FolderCallers::step() {
  if (!outdated_.empty()) {
    read_one();
  } else if (!joined_) {
    if (!read_imports()) join();
  } else if (!unasked_.empty()) {
    project::find_mentioned(fs_, unasked_.back(), wanted_, mentioned_);
    unasked_.pop_back();
  } else {
    if (summary_) finish();
    return false;
  }
  return true;
}

std::shared_ptr<const flow::Summary> FolderCallers::take_news() {
  return std::exchange(news_, nullptr);
}

void start_callers_scan(Session& session) {
  std::set<std::string> present;
  for (const Folder* folder : session.workspace.folders()) {
    present.insert(folder->path);
    auto& callers = session.callers[folder->path];
    if (callers)
      callers->restart(*folder);
    else
      callers = std::make_unique<FolderCallers>(session.fs, *folder);
  }
  std::erase_if(session.callers, [&](const auto& entry) { return !present.contains(entry.first); });
  session.jobs.set_idle(kCallersName, [&session] { return does_step(session); });
}

void outdate_callers(Session& session, const std::string& path) {
  const std::string own = session.fs.canonical(path).value_or(path);
  for (auto& [folder, callers] : session.callers)
    if (own.starts_with(folder + "/")) callers->outdate(own);
  session.jobs.set_idle(kCallersName, [&session] { return does_step(session); });
}

}  // namespace torchport::server
