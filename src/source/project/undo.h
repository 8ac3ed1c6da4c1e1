// The journal of a fix: enough to bring back what was there, also after the
// run was killed half way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace torchport::project {

// One file's change.
struct Change {
  std::string path;
  std::string before;
  std::string after;
  std::uint32_t mode = 0644;
};

struct Written {
  std::vector<std::string> files;
  std::vector<base::Error> problems;  // files that were left as they were
};

// Writes all changes. The journal with every old content is on disk before the
// first file is touched. A file that is no longer what was read (`before`) is
// left alone and reported, and so is one that cannot be written; the others
// are written all the same. `state` is the folder of the journal.
[[nodiscard]] base::Result<Written> write_changes(base::FileSystem& fs, const std::string& state,
                                                  const std::vector<Change>& changes);

struct Undone {
  std::vector<std::string> restored;
  std::vector<base::Error> problems;  // changed since the fix: left as they are
};

// Brings back the last run's files and forgets the journal (it is kept while a
// file could not be brought back). kUsage when there is nothing to undo.
[[nodiscard]] base::Result<Undone> undo(base::FileSystem& fs, const std::string& state);

}  // namespace torchport::project
