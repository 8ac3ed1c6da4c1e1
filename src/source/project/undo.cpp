#include "source/project/undo.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "source/project/cache.h"

namespace torchport::project {

namespace {

using base::ErrorCode;
using Bytes = std::vector<std::uint8_t>;

constexpr std::string_view kJournal = "undo.cbor";
constexpr std::string_view kPartial = ".torchport-";

std::string digest(std::string_view content) {
  const CacheKey key = cache_key({content});
  return fmt::format("{:016x}{:016x}", key.high, key.low);
}

Bytes bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

template <class Container>
std::string text_of(const Container& bytes) {
  return {bytes.begin(), bytes.end()};
}

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

base::Result<void> prepare_state(base::FileSystem& fs, const std::string& state) {
  if (auto made = fs.make_directories(state); !made) return made;
  // The folder is not source code, so version control must not see it.
  const std::string ignore = base::join_path(state, ".gitignore");
  if (fs.status(ignore, true).type != base::FileType::kMissing) return {};
  return fs.write_atomic(ignore, "*\n", 0644);
}

base::Result<void> write_journal(base::FileSystem& fs, const std::string& state,
                                 const std::vector<Change>& changes,
                                 const std::vector<Replacement>& replacements) {
  nlohmann::json journal = nlohmann::json::array();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    // Absolute, so that undo works from any folder.
    std::string path = fs.canonical(change.path).value_or(change.path);
    if (change.created) {
      const std::string folder(base::parent_path(change.path));
      path = base::join_path(fs.canonical(folder).value_or(folder), base::file_name(change.path));
    }
    journal.push_back({{"path", bytes_of(path)},
                       {"before", nlohmann::json::binary(bytes_of(change.before))},
                       {"after", digest(change.after)},
                       {"mode", change.mode},
                       {"created", change.created},
                       {"partial", replacements[i].partial}});
  }
  const auto packed = nlohmann::json::to_cbor(journal);
  const std::string_view content(reinterpret_cast<const char*>(packed.data()), packed.size());
  return fs.write_atomic(base::join_path(state, kJournal), content, 0600);
}

}  // namespace

void sweep(base::FileSystem& fs, const std::string& state) {
  // What a kill left while the journal itself was written.
  const auto entries = fs.list(state).value_or(std::vector<base::DirectoryEntry>{});
  for (const base::DirectoryEntry& entry : entries) {
    if (entry.name.starts_with('.') && entry.name.find(kPartial) != std::string::npos)
      (void)fs.remove(base::join_path(state, entry.name));
  }
  const auto content = fs.read(base::join_path(state, kJournal));
  if (!content) return;
  const auto journal = nlohmann::json::from_cbor(*content, true, false);
  if (!journal.is_array()) return;
  for (const nlohmann::json& entry : journal) {
    try {
      const auto name = entry.at("partial").get<std::string>();
      if (!name.starts_with(kPartial) || name.find('/') != std::string::npos) continue;
      const std::string left = beside(text_of(entry.at("path").get<Bytes>()), name);
      if (fs.status(left, false).type == base::FileType::kRegular) (void)fs.remove(left);
    } catch (const nlohmann::json::exception&) {
      continue;  // a journal of an older torchport, or a damaged one
    }
  }
}

base::Result<Written> write_changes(base::FileSystem& fs, const std::string& state,
                                    const std::vector<Change>& changes, unsigned threads) {
  sweep(fs, state);
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
  if (auto made = prepare_state(fs, state); !made) return tl::unexpected<base::Error>(made.error());
  if (auto done = write_journal(fs, state, changes, replacements); !done)
    return tl::unexpected<base::Error>(done.error());
  return replace_files(fs, replacements, threads);
}

base::Result<Undone> undo(base::FileSystem& fs, const std::string& state, unsigned threads) {
  const std::string path = base::join_path(state, kJournal);
  sweep(fs, state);
  if (fs.status(path, true).type == base::FileType::kMissing) {
    return base::fail(ErrorCode::kUsage,
                      "nothing to undo: there is no journal of `torchport fix` here; name the path "
                      "that was fixed: `torchport fix --undo PATH`",
                      state);
  }
  auto content = fs.read(path);
  if (!content) return tl::unexpected<base::Error>(content.error());
  Undone undone;
  std::vector<Replacement> replacements;
  std::vector<std::string> created;
  try {
    PartialNames names;
    for (const nlohmann::json& entry : nlohmann::json::from_cbor(*content)) {
      const std::string file = text_of(entry.at("path").get<Bytes>());
      std::string before = text_of(entry.at("before").get_binary());
      const auto after = entry.at("after").get<std::string>();
      const auto objection = [file, after](const std::string& now) -> std::optional<base::Error> {
        if (digest(now) == after) return std::nullopt;
        return base::Error{ErrorCode::kChanged, "edited since the fix, so it was not restored",
                           file, 0};
      };
      const bool is_created = entry.value("created", false);
      if (is_created && fs.status(file, false).type == base::FileType::kMissing) continue;
      const auto now = fs.read(file);
      if (!now) {
        undone.problems.push_back(now.error());
      } else if (!is_created && *now == before) {
        continue;  // the run was stopped before this file
      } else if (auto why = objection(*now)) {
        undone.problems.push_back(std::move(*why));
      } else if (is_created) {
        created.push_back(file);
      } else {
        // The journal's own name, so that sweep() finds it after a kill.
        replacements.push_back({file, entry.value("partial", names.next()), std::move(before),
                                entry.at("mode").get<std::uint32_t>(), false, objection});
      }
    }
  } catch (const nlohmann::json::exception&) {
    return base::fail(ErrorCode::kIo, "the journal is damaged; nothing was changed", path);
  }
  Written written = replace_files(fs, replacements, threads);
  undone.restored = std::move(written.files);
  undone.problems.insert(undone.problems.end(), written.problems.begin(), written.problems.end());
  if (!undone.problems.empty()) return undone;
  for (std::string& file : created) {
    if (auto gone = fs.remove(file); !gone)
      undone.problems.push_back(gone.error());
    else
      undone.restored.push_back(std::move(file));
  }
  if (undone.problems.empty()) {
    if (auto gone = fs.remove(path); !gone) undone.problems.push_back(gone.error());
  }
  return undone;
}

}  // namespace torchport::project
