// Writes the changes of a fix, with a journal that can restore the old files even if the run was
// killed half way.
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
  std::vector<base::Error> problems;  // files that were not changed
};

// Writes all changes. A journal with all old contents is on disk before the first file changes. A
// file that no longer has the content `before` is left alone and reported, and so is one that
// cannot be written; the others are written all the same. `state` is the folder of the journal.
[[nodiscard]] base::Result<Written> write_changes(base::FileSystem& fs, const std::string& state,
                                                  const std::vector<Change>& changes);

struct Undone {
  std::vector<std::string> restored;
  std::vector<base::Error> problems;  // files that were edited since the fix and stay as they are
};

// Restores the files of the last run and deletes the journal, or keeps it if a file could not be
// restored. Fails with kUsage if there is nothing to undo.
[[nodiscard]] base::Result<Undone> undo(base::FileSystem& fs, const std::string& state);

}  // namespace torchport::project
