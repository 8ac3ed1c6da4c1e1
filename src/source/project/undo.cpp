#include "source/project/undo.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "source/project/cache.h"

namespace torchport::project {

namespace {

using base::ErrorCode;

constexpr std::string_view kJournal = "undo.cbor";

std::string digest(std::string_view content) {
  const CacheKey key = cache_key({content});
  return fmt::format("{:016x}{:016x}", key.high, key.low);
}

std::vector<std::uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

}  // namespace

base::Result<Written> write_changes(base::FileSystem& fs, const std::string& state,
                                    const std::vector<Change>& changes) {
  Written written;
  if (changes.empty()) return written;
  nlohmann::json journal = nlohmann::json::array();
  for (const Change& change : changes) {
    // Absolute, so that undo works from any folder.
    const std::string path = fs.canonical(change.path).value_or(change.path);
    journal.push_back({{"path", bytes_of(path)},
                       {"before", nlohmann::json::binary(bytes_of(change.before))},
                       {"after", digest(change.after)},
                       {"mode", change.mode}});
  }
  if (auto made = fs.make_directories(state); !made)
    return tl::unexpected<base::Error>(made.error());
  // The folder is not source code, so version control must not see it.
  const std::string ignore = base::join_path(state, ".gitignore");
  if (fs.status(ignore, true).type == base::FileType::kMissing) {
    if (auto done = fs.write_atomic(ignore, "*\n", 0644); !done)
      return tl::unexpected<base::Error>(done.error());
  }
  const auto packed = nlohmann::json::to_cbor(journal);
  const std::string_view content(reinterpret_cast<const char*>(packed.data()), packed.size());
  if (auto done = fs.write_atomic(base::join_path(state, kJournal), content, 0600); !done)
    return tl::unexpected<base::Error>(done.error());

  for (const Change& change : changes) {
    const auto now = fs.read(change.path);
    if (!now) {
      written.problems.push_back(now.error());
    } else if (*now != change.before) {
      written.problems.push_back(
          {ErrorCode::kChanged,
           "changed while it was being fixed, so it was not written; run fix again", change.path,
           0});
    } else if (auto done = fs.write_atomic(change.path, change.after, change.mode); !done) {
      written.problems.push_back(done.error());
    } else {
      written.files.push_back(change.path);
    }
  }
  return written;
}

base::Result<Undone> undo(base::FileSystem& fs, const std::string& state) {
  const std::string path = base::join_path(state, kJournal);
  if (fs.status(path, true).type == base::FileType::kMissing) {
    return base::fail(ErrorCode::kUsage,
                      "nothing to undo: there is no journal of `torchport fix` here; name the path "
                      "that was fixed: `torchport fix --undo PATH`",
                      state);
  }
  auto content = fs.read(path);
  if (!content) return tl::unexpected<base::Error>(content.error());
  Undone undone;
  try {
    for (const nlohmann::json& entry : nlohmann::json::from_cbor(*content)) {
      const auto& name = entry.at("path").get<std::vector<std::uint8_t>>();
      const std::string file(name.begin(), name.end());
      const auto& old = entry.at("before").get_binary();
      const std::string before(old.begin(), old.end());
      const auto now = fs.read(file);
      if (!now) {
        undone.problems.push_back(now.error());
      } else if (*now == before) {
        continue;  // the run was stopped before this file
      } else if (digest(*now) != entry.at("after").get<std::string>()) {
        undone.problems.push_back(
            {ErrorCode::kChanged, "edited since the fix, so it was not restored", file, 0});
      } else if (auto done = fs.write_atomic(file, before, entry.at("mode").get<std::uint32_t>());
                 !done) {
        undone.problems.push_back(done.error());
      } else {
        undone.restored.push_back(file);
      }
    }
  } catch (const nlohmann::json::exception&) {
    return base::fail(ErrorCode::kIo, "the journal is damaged; nothing was changed", path);
  }
  if (undone.problems.empty()) {
    if (auto gone = fs.remove(path); !gone) undone.problems.push_back(gone.error());
  }
  return undone;
}

}  // namespace torchport::project
