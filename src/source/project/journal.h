// The journals of `fix`: what each run that wrote files changed, in a folder of the user's own. A
// tree brings none along, because none is read from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"

namespace torchport::project {

// One file that a run changed.
struct JournalEntry {
  std::string path;     // absolute, no part of it a link
  std::string before;   // its content
  std::string after;    // digest() of its new content
  std::string partial;  // the name of the temporary file beside it
  std::uint32_t mode = 0644;
  bool created = false;
};

// How far a run has come. The end of a journal's name says it, so that one rename is the step.
enum class JournalState : std::uint8_t { kWriting, kDone, kUndoing };

struct Journal {
  int number = 0;  // of the run
  JournalState state = JournalState::kDone;
  std::string path;
};

[[nodiscard]] std::string digest(std::string_view content);

// The journals of a folder, the oldest run first. None if the folder cannot be read.
[[nodiscard]] std::vector<Journal> journals_of(const base::FileSystem& fs,
                                               const std::string& state);

// Writes a journal in state kWriting as the newest of the folder.
[[nodiscard]] base::Result<Journal> write_journal(base::FileSystem& fs, const std::string& state,
                                                  const std::vector<JournalEntry>& entries);
// Fails with kIo if the journal cannot be read or is damaged, however it is.
[[nodiscard]] base::Result<std::vector<JournalEntry>> read_journal(const base::FileSystem& fs,
                                                                   const Journal& journal);
// On disk when it returns.
[[nodiscard]] base::Result<void> set_state(base::FileSystem& fs, Journal& journal,
                                           JournalState state);

// Removes the oldest finished ones but for `kept`.
void forget_old(base::FileSystem& fs, const std::string& state, std::size_t kept);

}  // namespace torchport::project
