#include "source/project/undo.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "source/project/journal.h"

namespace torchport::project {

namespace {

using base::ErrorCode;

constexpr std::string_view kPartial = ".torchport-";
constexpr std::uint32_t kPermissions = 0777;
// So many runs of a tree can be undone.
constexpr std::size_t kKeptRuns = 50;

std::string beside(const std::string& path, const std::string& name) {
  return base::join_path(base::parent_path(path), name);
}

// Temporary names that no other run has.
class PartialNames {
 public:
  [[nodiscard]] std::string next() { return fmt::format("{}{:016x}-{}", kPartial, run_, count_++); }

 private:
  std::uint64_t run_ = (std::uint64_t{std::random_device()()} << 32U) | std::random_device()();
  std::size_t count_ = 0;
};

struct Replacement {
  std::string path;
  std::string partial;  // the name of the temporary file in the same folder
  std::string content;
  std::uint32_t mode = 0644;
  bool created = false;  // there is no such file yet
  // Why the file must stay as it is now; none if it may be replaced.
  std::function<std::optional<base::Error>(const std::string& now)> objection;
};

// Calls work(0) to work(count - 1), which must not throw if there are several threads.
template <class Work>
void in_threads(std::size_t count, unsigned threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) others.emplace_back(loop);
  loop();
  for (std::thread& other : others) other.join();
}

// Gives the new content the file's name, unless the file has changed. Returns why it did not.
std::optional<base::Error> give_name(base::FileSystem& fs, const Replacement& one) {
  try {
    if (one.created) {
      if (fs.status(one.path, false).type != base::FileType::kMissing)
        return base::Error{ErrorCode::kChanged, "exists now, so it was not written; run fix again",
                           one.path, 0};
    } else {
      const auto now = fs.read(one.path);
      if (!now) return now.error();
      if (auto objection = one.objection(*now)) return objection;
    }
    if (auto done = fs.rename(beside(one.path, one.partial), one.path); !done) return done.error();
    return std::nullopt;
  } catch (const std::exception& error) {
    return base::Error{ErrorCode::kInternal, error.what(), one.path, 0};
  }
}

// Replaces the files, all new contents on disk before the first file gets its name. One that cannot
// be written, or has an objection, is reported and stays as it is. Created files come first;
// without one of them, all others stay.
Written replace_files(base::FileSystem& fs, const std::vector<Replacement>& replacements,
                      unsigned threads) {
  Written written;
  std::vector<const Replacement*> staged;
  std::vector<std::string> folders;
  bool complete = true;  // all created files are there
  for (const Replacement& one : replacements) {
    if (auto made = fs.create(beside(one.path, one.partial), one.content, one.mode); !made) {
      complete &= !one.created;
      made.error().path = one.path;
      written.problems.push_back(made.error());
      continue;
    }
    if (!one.created) {
      if (auto kept = fs.copy_attributes(one.path, beside(one.path, one.partial)); !kept) {
        (void)fs.remove(beside(one.path, one.partial));
        kept.error().path = one.path;
        kept.error().message += "; it was not written";
        written.problems.push_back(kept.error());
        continue;
      }
      if (const std::uint64_t links = fs.status(one.path, false).links; links > 1)
        written.notes.push_back(
            {ErrorCode::kChanged,
             fmt::format("has {} more {} (hard links), which {} the old content", links - 1,
                         links == 2 ? "name" : "names", links == 2 ? "keeps" : "keep"),
             one.path, 0});
    }
    staged.push_back(&one);
    std::string folder(base::parent_path(one.path));
    if (folders.empty() || folders.back() != folder) folders.push_back(std::move(folder));
  }
  if (staged.empty()) return written;
  const auto on_disk = fs.sync(folders);
  std::vector<std::optional<base::Error>> refused(staged.size());
  const auto write_one = [&](std::size_t i) {
    if (on_disk) {
      refused[i] = give_name(fs, *staged[i]);
    } else {
      refused[i] = on_disk.error();
      refused[i]->path = staged[i]->path;
    }
  };
  for (std::size_t i = 0; i < staged.size(); ++i) {
    if (!staged[i]->created) continue;
    write_one(i);
    complete &= !refused[i];
  }
  in_threads(staged.size(), threads, [&](std::size_t i) {
    if (staged[i]->created) return;
    if (complete) return write_one(i);
    refused[i] = base::Error{ErrorCode::kIo,
                             "was not written, because a file that it needs could not be created",
                             staged[i]->path, 0};
  });
  for (std::size_t i = 0; i < staged.size(); ++i) {
    if (refused[i]) {
      (void)fs.remove(beside(staged[i]->path, staged[i]->partial));
      written.problems.push_back(std::move(*refused[i]));
    } else {
      written.files.push_back(staged[i]->path);
    }
  }
  // Some file systems cannot sync folders; the renames hold all the same.
  if (!written.files.empty()) (void)fs.sync(folders);
  return written;
}

std::vector<JournalEntry> entries_of(const base::FileSystem& fs, const std::vector<Change>& changes,
                                     const std::vector<Replacement>& replacements) {
  std::vector<JournalEntry> entries;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    // Absolute, so that undo works from any folder, and without links.
    std::string path = fs.canonical(change.path).value_or(change.path);
    if (change.created) {
      const std::string folder(base::parent_path(change.path));
      path = base::join_path(fs.canonical(folder).value_or(folder), base::file_name(change.path));
    }
    entries.push_back({std::move(path), change.before, digest(change.after),
                       replacements[i].partial, change.mode, change.created});
  }
  return entries;
}

// Why a file is not what the run has left at this path; none if it may be restored.
std::optional<base::Error> unlike_left(const base::FileSystem& fs, const JournalEntry& entry) {
  const std::string folder(base::parent_path(entry.path));
  if (fs.status(entry.path, false).type != base::FileType::kRegular ||
      fs.canonical(folder).value_or("") != folder)
    return base::Error{ErrorCode::kChanged,
                       "is no regular file of its folder any more, so it was not restored",
                       entry.path, 0};
  return std::nullopt;
}

// Removes the temporary files of a run that was ended half way.
void remove_partials(base::FileSystem& fs, const std::vector<JournalEntry>& entries) {
  for (const JournalEntry& entry : entries) {
    if (!entry.partial.starts_with(kPartial) || entry.partial.find('/') != std::string::npos)
      continue;
    const std::string left = beside(entry.path, entry.partial);
    if (fs.status(left, false).type == base::FileType::kRegular) (void)fs.remove(left);
  }
}

// Whether a problem is a file that has another content than the run gave it.
constexpr std::string_view kEdited = "edited since the fix";

// Makes notes of the problems that are files edited since.
void pass_over_edited(Undone& undone) {
  std::erase_if(undone.problems, [&](const base::Error& problem) {
    if (!problem.message.starts_with(kEdited)) return false;
    undone.notes.push_back(
        {ErrorCode::kChanged, fmt::format("{}; it stays as it is", kEdited), problem.path, 0});
    return true;
  });
}

base::Result<Undone> undo_run(base::FileSystem& fs, Journal journal, unsigned threads,
                              bool skip_edited = false) {
  const auto entries = read_journal(fs, journal);
  if (!entries) return tl::unexpected<base::Error>(entries.error());
  if (auto done = set_state(fs, journal, JournalState::kUndoing); !done)
    return tl::unexpected<base::Error>(done.error());
  remove_partials(fs, *entries);
  Undone undone;
  std::vector<Replacement> replacements;
  std::vector<std::string> created;
  for (const JournalEntry& entry : *entries) {
    const auto objection = [&entry](const std::string& now) -> std::optional<base::Error> {
      if (digest(now) == entry.after) return std::nullopt;
      return base::Error{ErrorCode::kChanged, fmt::format("{}, so it was not restored", kEdited),
                         entry.path, 0};
    };
    if (fs.status(entry.path, false).type == base::FileType::kMissing) {
      if (!entry.created)
        undone.notes.push_back(
            {ErrorCode::kChanged, "was deleted since the fix; it stays away", entry.path, 0});
      continue;
    }
    if (auto why = unlike_left(fs, entry)) {
      undone.problems.push_back(std::move(*why));
      continue;
    }
    const auto now = fs.read(entry.path);
    if (!now) {
      undone.problems.push_back(now.error());
    } else if (!entry.created && *now == entry.before) {
      continue;  // the run was stopped before this file
    } else if (auto why = objection(*now)) {
      undone.problems.push_back(std::move(*why));
    } else if (entry.created) {
      created.push_back(entry.path);
    } else {
      // The journal's own name, so that it is found after a kill.
      replacements.push_back(
          {entry.path, entry.partial, entry.before, entry.mode & kPermissions, false, objection});
    }
  }
  Written written = replace_files(fs, replacements, threads);
  undone.restored = std::move(written.files);
  undone.notes.insert(undone.notes.end(), written.notes.begin(), written.notes.end());
  undone.problems.insert(undone.problems.end(), written.problems.begin(), written.problems.end());
  if (skip_edited) pass_over_edited(undone);
  undone.edited = static_cast<std::size_t>(
      std::count_if(undone.problems.begin(), undone.problems.end(),
                    [](const auto& problem) { return problem.message.starts_with(kEdited); }));
  if (undone.problems.empty()) {
    for (std::string& file : created) {
      if (auto gone = fs.remove(file); !gone)
        undone.problems.push_back(gone.error());
      else
        undone.restored.push_back(std::move(file));
    }
  }
  auto ended = undone.problems.empty() ? fs.remove(journal.path)
                                       : set_state(fs, journal, JournalState::kDone);
  if (!ended) undone.problems.push_back(ended.error());
  return undone;
}

}  // namespace

base::Result<Undone> recover(base::FileSystem& fs, const std::string& state, unsigned threads) {
  // What a kill left while a journal itself was written.
  const auto entries = fs.list(state).value_or(std::vector<base::DirectoryEntry>{});
  for (const base::DirectoryEntry& entry : entries) {
    if (entry.name.starts_with('.') && entry.name.find(kPartial) != std::string::npos)
      (void)fs.remove(base::join_path(state, entry.name));
  }
  Undone all;
  std::vector<Journal> journals = journals_of(fs, state);
  for (auto journal = journals.rbegin(); journal != journals.rend(); ++journal) {
    if (journal->state == JournalState::kDone) continue;
    auto undone = undo_run(fs, *journal, threads);
    if (!undone) return undone;
    all.restored.insert(all.restored.end(), undone->restored.begin(), undone->restored.end());
    all.problems.insert(all.problems.end(), undone->problems.begin(), undone->problems.end());
    all.notes.insert(all.notes.end(), undone->notes.begin(), undone->notes.end());
  }
  return all;
}

base::Result<Written> write_changes(base::FileSystem& fs, const std::string& state,
                                    const std::vector<Change>& changes, unsigned threads) {
  if (changes.empty()) return Written{};
  PartialNames names;
  std::vector<Replacement> replacements;
  replacements.reserve(changes.size());
  for (const Change& change : changes) {
    replacements.push_back(
        {change.path, names.next(), change.after, change.mode, change.created,
         [&change](const std::string& now) -> std::optional<base::Error> {
           if (now == change.before) return std::nullopt;
           return base::Error{
               ErrorCode::kChanged,
               "changed while it was being fixed, so it was not written; run fix again",
               change.path, 0};
         }});
  }
  if (auto made = fs.make_directories(state); !made)
    return tl::unexpected<base::Error>(made.error());
  auto journal = write_journal(fs, state, entries_of(fs, changes, replacements));
  if (!journal) return tl::unexpected<base::Error>(journal.error());
  Written written = replace_files(fs, replacements, threads);
  auto ended = written.files.empty() ? fs.remove(journal->path)
                                     : set_state(fs, *journal, JournalState::kDone);
  if (!ended) written.problems.push_back(ended.error());
  forget_old(fs, state, kKeptRuns);
  return written;
}

base::Result<Undone> undo(base::FileSystem& fs, const std::string& state, unsigned threads,
                          bool skip_edited) {
  const std::vector<Journal> journals = journals_of(fs, state);
  if (journals.empty())
    return base::fail(ErrorCode::kUsage,
                      "nothing to undo: `torchport fix` has changed no files here that are not "
                      "restored; name the path that was fixed: `torchport fix --undo PATH`");
  return undo_run(fs, journals.back(), threads, skip_edited);
}

}  // namespace torchport::project
