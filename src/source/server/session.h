// Holds what the methods of one connection share.
//
// Two threads use it. The reader takes the client's messages, changes the documents and adds jobs;
// the worker runs the jobs. Documents, jobs and client are thread safe; abilities are set by
// `initialize`, before the worker has its first job; everything else belongs to the worker.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "source/server/analysis.h"
#include "source/server/callers_scan.h"
#include "source/server/documents.h"
#include "source/server/jobs.h"
#include "source/server/json_rpc.h"
#include "source/server/workspace.h"

namespace torchport::server {

// What the client can do, as it says in `initialize`.
struct Abilities {
  Encoding encoding = Encoding::kUtf16;
  bool pulls_diagnostics = false;  // it asks for diagnostics, so that none are pushed
  bool refreshes_diagnostics = false;
  bool refreshes_hints = false;
  bool document_changes = false;  // edits with the versions they are for
  bool resolves_edits = false;    // asks for the edit of a code action when it is chosen
  bool watches_files = false;     // takes the files to watch from the server
  bool configuration = false;     // answers questions about settings
  bool progress = false;
};

class Session {
 public:
  Session(const base::FileSystem& files, Outgoing::Write write, std::string own_version)
      : fs(files), version(std::move(own_version)), client(std::move(write)), workspace(files) {}

  const base::FileSystem& fs;
  const std::string version;  // of torchport
  Abilities abilities;
  Documents documents;
  Jobs jobs;
  Outgoing client;
  Workspace workspace;
  std::map<std::string, std::unique_ptr<FolderCallers>> callers;  // by folder

  // Any thread: has the worker check a document or a notebook and publish what it finds, in place
  // of a check of it that waits or runs. If it is closed by then, its diagnostics are removed.
  void check(const std::string& uri);
  // Worker's thread: has everything checked again, because settings changed.
  void check_all();
  // Worker's thread: has what is open checked again.
  void check_open();

  // The analysis of a source; the last one of each open document is kept. Null if it was stopped.
  [[nodiscard]] std::shared_ptr<const Analysis> analysis_of(const Source& source,
                                                            const Job::Stop& stop);
  // Shows what was wrong with settings.
  void show_complaints(const std::vector<std::string>& complaints);
  // Whether a file is open, so that the client's text counts and not the file's.
  [[nodiscard]] bool is_open(const std::string& path) const;

  // Worker's thread: shows the diagnostics of a file that is not open, removes them, removes those
  // of all such files.
  void show_unopened(const std::string& path, Json diagnostics);
  void hide_unopened(const std::string& path);
  void hide_all_unopened();

 private:
  void publish(const std::string& uri, const Job::Stop& stop);
  // Says why a file was not checked, or not as a whole.
  void log_problems(const Analysis& analysis);

  std::map<std::string, std::shared_ptr<const Analysis>> analyses_;  // by the source's URI
  std::map<std::string, std::vector<std::string>> published_;  // the parts that have diagnostics
  std::map<std::string, Json> shown_;                          // the last message for each part
  std::set<std::string> unopened_;  // the paths of files that are not open and have diagnostics
};

}  // namespace torchport::server
