// Reads what the files of the workspace say about each other's functions, whenever the worker has
// nothing else to do: the facts of one file a step, then what they say together. Open documents are
// checked again when the answers have changed.
//
// Facts are those of the files on the disk: what is being typed calls nobody until it is saved.
// Everything here belongs to the worker's thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "source/project/callers.h"
#include "source/server/workspace.h"

namespace torchport::server {

class Session;

// The files of one folder.
class FolderCallers {
 public:
  FolderCallers(const base::FileSystem& fs, const Folder& folder);

  // Reads the settings of the folder and the list of its files again. The facts of files that are
  // still there are kept.
  void restart(const Folder& folder);
  // A file of the folder was changed, added or removed.
  void outdate(const std::string& path);
  // Does a part of the work; returns whether there is more.
  bool step();
  // The new summary, once: when all work is done and the facts are not those of the last one.
  [[nodiscard]] std::shared_ptr<const flow::Summary> take_news();

 private:
  void read_one();
  void list_unconnected();
  // Reads what one more file without facts imports, if that matters; whether there was one.
  bool read_imports();
  void join();
  void finish();

  const base::FileSystem& fs_;
  Folder folder_;
  std::map<std::string, std::optional<flow::FileFacts>> known_;  // by path; none: not understood
  // Of files without facts, once a file sets CUDA_VISIBLE_DEVICES in a function.
  std::map<std::string, std::optional<flow::FileFacts>> imports_;
  std::vector<std::string> unconnected_;  // and those that imports_ still lacks
  bool listed_ = false;                   // unconnected_ is up to date
  std::set<std::string> outdated_;
  bool joined_ = false;
  bool is_project_ = true;  // and not a folder with too many files
  // While it is asked which functions are mentioned in files without facts.
  std::shared_ptr<flow::Summary> summary_;
  base::TextSet wanted_;
  base::TextSet mentioned_;
  std::vector<std::string> unasked_;
  std::shared_ptr<const flow::Summary> news_;
};

// Starts to read the callers in all folders.
void start_callers_scan(Session& session);
// Reads a file again that changed on the disk.
void outdate_callers(Session& session, const std::string& path);

}  // namespace torchport::server
