#include "source/server/workspace.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace torchport::server {

namespace {

std::string relative_to(const std::string& path, const std::string& root) {
  if (path == root || !base::is_within(path, root)) return path;
  return path.substr(root == "/" ? 1 : root.size() + 1);
}

}  // namespace

std::string Folder::shown(const std::string& file) const {
  return relative_to(file, config.root);
}

bool holds_settings(std::string_view path) {
  static constexpr std::array<std::string_view, 7> kNames{
      "torchport.toml",   "pyproject.toml",  "setup.py",  "setup.cfg",
      "requirements.txt", "requirements.in", ".gitignore"};
  return base::one_of(kNames, base::file_name(path));
}

void Workspace::set_client_settings(ClientSettings settings) {
  client_ = std::move(settings);
  forget();
}

void Workspace::add_folder(const std::string& path) {
  const std::string folder = canonical(path);
  if (std::find(paths_.begin(), paths_.end(), folder) == paths_.end()) paths_.push_back(folder);
  forget();
}

void Workspace::remove_folder(const std::string& path) {
  const std::string folder = canonical(path);
  std::erase(paths_, folder);
  callers_.erase(folder);
  forget();
}

void Workspace::forget() {
  known_.clear();
  excluded_.clear();
  complained_.clear();
  ++generation_;
}

std::vector<std::string> Workspace::take_complaints() {
  return std::exchange(complaints_, {});
}

// The path without links, also of a file that does not exist yet.
std::string Workspace::canonical(const std::string& path) const {
  if (auto whole = fs_.canonical(path)) return *whole;
  const auto parent = fs_.canonical(std::string(base::parent_path(path)));
  return parent ? base::join_path(*parent, base::file_name(path)) : path;
}

const Folder& Workspace::folder_at(const std::string& path) {
  const auto found = known_.find(path);
  if (found != known_.end()) return found->second;
  Folder folder;
  folder.path = path;
  const auto complain = [&](const base::Error& error) {
    const std::string where =
        error.path.empty() ? std::string()
                           : fmt::format("{}{}: ", error.path,
                                         error.line > 0 ? fmt::format(":{}", error.line) : "");
    std::string text = where + error.message;
    if (std::find(complained_.begin(), complained_.end(), text) != complained_.end()) return;
    complained_.push_back(text);
    complaints_.push_back(text + ". Until this is corrected, the default settings are used.");
  };
  auto config =
      client_.configuration.empty()
          ? project::load_config(fs_, path)
          : project::load_config_file(fs_, client_.configuration.starts_with('/')
                                               ? client_.configuration
                                               : base::join_path(path, client_.configuration));
  if (config) {
    folder.config = std::move(*config);
  } else {
    complain(config.error());
    folder.config.root = path;
  }
  if (!client_.select.empty()) folder.config.select = client_.select;
  folder.config.ignore.insert(folder.config.ignore.end(), client_.ignore.begin(),
                              client_.ignore.end());
  if (auto options = project::check_options(folder.config)) {
    folder.options = std::move(*options);
  } else {
    complain(options.error());
  }
  folder.options.root = ".";
  folder.discovery.root = folder.config.root;
  for (const std::string& pattern : folder.config.exclude) folder.discovery.exclude.add(pattern);
  return known_.emplace(path, std::move(folder)).first->second;
}

std::optional<FilePlan> Workspace::plan_for(const std::string& path_or_name) {
  if (!path_or_name.starts_with('/')) {
    const Folder& folder = folder_at(paths_.empty() ? "/" : paths_.front());
    return FilePlan{path_or_name, project::without_silenced(path_or_name, folder.options), {}};
  }
  const std::string path = canonical(path_or_name);
  const std::string* top = nullptr;
  for (const std::string& folder : paths_)
    if (base::is_within(path, folder) && (top == nullptr || folder.size() > top->size()))
      top = &folder;
  const Folder& folder = folder_at(top == nullptr ? std::string(base::parent_path(path)) : *top);
  if (top != nullptr) {
    const auto known = excluded_.find(path);
    const bool excluded =
        known != excluded_.end()
            ? known->second
            : excluded_.emplace(path, !project::would_discover(fs_, *top, path, folder.discovery))
                  .first->second;
    if (excluded) return std::nullopt;
  }
  const std::string shown = folder.shown(path);
  FilePlan plan{shown, project::without_silenced(shown, folder.options), {}};
  if (const auto callers = callers_.find(folder.path); callers != callers_.end()) {
    plan.callers = callers->second;
    plan.options.project = plan.callers.get();
  }
  return plan;
}

void Workspace::set_callers(const std::string& folder,
                            std::shared_ptr<const flow::Summary> callers) {
  callers_[folder] = std::move(callers);
  ++generation_;
}

std::vector<const Folder*> Workspace::folders() {
  std::vector<const Folder*> result;
  result.reserve(paths_.size());
  for (const std::string& path : paths_) result.push_back(&folder_at(path));
  return result;
}

}  // namespace torchport::server
