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
  bool created = false;  // there is no such file before
};

struct Written {
  std::vector<std::string> files;
  std::vector<base::Error> problems;  // files that were not changed
};

// Writes all changes. A journal with all old contents is on disk before the first file changes, and
// all new contents are on disk, beside their files, before the first of them gets its name: the
// disk is waited for three times, however many files there are. A file that no longer has the
// content `before` is left alone and reported, and so is one that cannot be written; the others are
// written all the same. But files that are created come first, and nothing is written without all
// of them, because the others may need them. `state` is the folder of the journal. If the program
// is killed at any moment, each file is old or new, undo() restores it, and sweep() removes the
// rest. With several threads the files get their names at the same time, which some file systems
// reward tenfold; `fs` has to be thread safe then.
[[nodiscard]] base::Result<Written> write_changes(base::FileSystem& fs, const std::string& state,
                                                  const std::vector<Change>& changes,
                                                  unsigned threads = 1);

// Removes the temporary files that a killed run of write_changes() or undo() left; both do so
// themselves at their start. It finds them through the journal. Not safe beside another run.
void sweep(base::FileSystem& fs, const std::string& state);

struct Undone {
  std::vector<std::string> restored;
  std::vector<base::Error> problems;  // files that were edited since the fix and stay as they are
};

// Restores the files of the last run, removes those that it created, and deletes the journal. If a
// file could not be restored, it keeps the journal and the created files. Fails with kUsage if
// there is nothing to undo.
[[nodiscard]] base::Result<Undone> undo(base::FileSystem& fs, const std::string& state,
                                        unsigned threads = 1);

}  // namespace torchport::project
