// Knows the folders that the client has open and which settings hold for a file in them: those that
// `torchport check` would read when it is started in the folder.
//
// It belongs to the worker's thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file_system.h"
#include "source/project/check.h"
#include "source/project/config.h"
#include "source/project/discover.h"
#include "source/server/client_settings.h"

namespace torchport::server {

// How a file is checked.
struct FilePlan {
  std::string path;               // relative to the settings' root, as `torchport check` says it
  project::CheckOptions options;  // without the rules that per-file patterns silence
  std::shared_ptr<const flow::Summary> callers;  // that options.project points to; null: unknown
};

// A folder with its settings.
struct Folder {
  std::string path;
  project::Config config;
  project::CheckOptions options;
  project::DiscoveryOptions discovery;

  // The path of a file in the folder as `torchport check` says it.
  [[nodiscard]] std::string shown(const std::string& file) const;
};

class Workspace {
 public:
  explicit Workspace(const base::FileSystem& fs) : fs_(fs) {}

  void set_client_settings(ClientSettings settings);
  [[nodiscard]] const ClientSettings& client_settings() const { return client_; }
  void add_folder(const std::string& path);
  void remove_folder(const std::string& path);
  // Reads all settings again when they are needed next.
  void forget();
  // Changes whenever the answers of this class may have changed.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

  // How to check a file; none if the project excludes it. A file outside of all folders is checked
  // by the settings above it, as if it was named on the command line. A document without a file has
  // a name only and is checked by the settings of the first folder.
  [[nodiscard]] std::optional<FilePlan> plan_for(const std::string& path_or_name);
  // What the files of a folder say about each other's functions, from now on.
  void set_callers(const std::string& folder, std::shared_ptr<const flow::Summary> callers);
  // The workspace's own folders, with their settings read.
  [[nodiscard]] std::vector<const Folder*> folders();
  // What was wrong with settings files since the last call, each once.
  [[nodiscard]] std::vector<std::string> take_complaints();

 private:
  const Folder& folder_at(const std::string& path);
  [[nodiscard]] std::string canonical(const std::string& path) const;

  const base::FileSystem& fs_;
  ClientSettings client_;
  std::vector<std::string> paths_;                                       // canonical
  std::map<std::string, std::shared_ptr<const flow::Summary>> callers_;  // by folder
  std::map<std::string, Folder> known_;
  std::unordered_map<std::string, bool> excluded_;  // by canonical path
  std::vector<std::string> complaints_;
  std::vector<std::string> complained_;
  std::uint64_t generation_ = 1;
};

// Whether a change of this file can change a project's settings.
[[nodiscard]] bool holds_settings(std::string_view path);

}  // namespace torchport::server
