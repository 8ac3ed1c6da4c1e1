// Writes the changes of a fix, with journals that can restore the old files, also those of a run
// that was killed half way.
#pragma once

#include <cstdint>
#include <map>
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
  bool created = false;                        // there is no such file before
  std::map<std::string, std::size_t> fixed{};  // rule code -> fixes in this file
};

struct Written {
  std::vector<std::string> files;
  std::vector<base::Error> problems;  // files that were not changed
  std::vector<base::Error> notes;     // what is worth to know of files that were
};

// Writes all changes. A journal with all old contents is on disk before the first file changes, and
// all new contents are on disk, beside their files, before the first of them gets its name: the
// disk is waited for four times, however many files there are. A file that no longer has the
// content `before` is left alone and reported, and so is one that cannot be written, or would lose
// its owner or attributes; the others are written all the same. But files that are created come
// first, and nothing is written without all of them, because the others may need them. `state` is
// the folder of the tree's journals, which belongs to this user alone; one process at a time may
// use it. If the program is killed at any moment, each file is old or new, and recover() restores
// the old ones. With several threads the files get their names at the same time, which some file
// systems reward tenfold; `fs` has to be thread safe then.
[[nodiscard]] base::Result<Written> write_changes(base::FileSystem& fs, const std::string& state,
                                                  const std::vector<Change>& changes,
                                                  unsigned threads = 1);

struct Undone {
  std::vector<std::string> restored;
  std::vector<base::Error> problems;  // files that were edited since the fix and stay as they are
  std::vector<base::Error> notes;     // what is worth to know of restored files
  std::size_t edited = 0;             // of the problems, those that --skip-edited would pass over
};

// Brings every run that was killed half way, also an undo, to its beginning, and removes its
// temporary files. Call it before files are read that write_changes() will change.
[[nodiscard]] base::Result<Undone> recover(base::FileSystem& fs, const std::string& state,
                                           unsigned threads = 1);

// Restores the files of the last run, removes those that it created, and forgets the run; the one
// before is the last then. A file that is not there any more stays away. If a file could not be
// restored, the run stays, and so do the created files; with `skip_edited` one that was edited
// since is only a note, and stays as it is. A link, or anything else than a regular file, is not
// written through. Fails with kUsage if there is nothing to undo.
[[nodiscard]] base::Result<Undone> undo(base::FileSystem& fs, const std::string& state,
                                        unsigned threads = 1, bool skip_edited = false);

}  // namespace torchport::project
