#include "source/project/cache.h"

#include <cstring>

#include <sqlite3.h>
#include <xxhash.h>

namespace torchport::project {

namespace {

constexpr std::size_t kMaxUnused = 50'000;  // entries of earlier contents that are kept

struct DatabaseCloser {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct StatementCloser {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, DatabaseCloser>;
using Statement = std::unique_ptr<sqlite3_stmt, StatementCloser>;

Database open_database(const std::string& path) {
  sqlite3* raw = nullptr;
  const int rc = sqlite3_open(path.c_str(), &raw);
  Database database(raw);
  if (rc != SQLITE_OK) return nullptr;
  sqlite3_busy_timeout(raw, 200);
  const char* schema =
      "PRAGMA synchronous=OFF;"
      "CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT "
      "ROWID;";
  if (sqlite3_exec(raw, schema, nullptr, nullptr, nullptr) != SQLITE_OK) return nullptr;
  return database;
}

Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &raw, nullptr);
  return Statement(raw);
}

}  // namespace

CacheKey cache_key(std::initializer_list<std::string_view> parts) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  for (const std::string_view part : parts) {
    const std::uint64_t size = part.size();
    XXH3_128bits_update(state, &size, sizeof size);
    XXH3_128bits_update(state, part.data(), part.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return {hash.low64, hash.high64};
}

Cache::Cache(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  const Database database = open_database(path_);
  if (!database) return;
  const Statement rows = prepare(database.get(), "SELECT key, value FROM results");
  while (rows && sqlite3_step(rows.get()) == SQLITE_ROW) {
    if (sqlite3_column_bytes(rows.get(), 0) != sizeof(CacheKey)) continue;
    CacheKey key;
    std::memcpy(&key, sqlite3_column_blob(rows.get(), 0), sizeof key);
    const auto* value = static_cast<const char*>(sqlite3_column_blob(rows.get(), 1));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(rows.get(), 1));
    entries_[key].value.assign(value == nullptr ? "" : value, size);
  }
}

Cache::~Cache() = default;

const std::string* Cache::get(const CacheKey& key) {
  if (path_.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  found->second.used = true;
  return &found->second.value;
}

void Cache::put(const CacheKey& key, std::string value) {
  if (path_.empty()) return;
  const std::lock_guard lock(mutex_);
  entries_[key] = Entry{std::move(value), true, true};
}

void Cache::store() {
  if (path_.empty()) return;
  std::vector<const std::pair<const CacheKey, Entry>*> fresh;
  std::size_t unused = 0;
  for (const auto& entry : entries_) {
    if (entry.second.fresh) fresh.push_back(&entry);
    unused += entry.second.used ? 0 : 1;
  }
  if (fresh.empty()) return;
  const Database database = open_database(path_);
  if (!database) return;
  sqlite3_exec(database.get(), "BEGIN", nullptr, nullptr, nullptr);
  if (unused > kMaxUnused) {
    sqlite3_exec(database.get(), "DELETE FROM results", nullptr, nullptr, nullptr);
    fresh.clear();
    for (const auto& entry : entries_) {
      if (entry.second.used) fresh.push_back(&entry);
    }
  }
  const Statement insert = prepare(database.get(), "INSERT OR REPLACE INTO results VALUES (?, ?)");
  for (const auto* entry : fresh) {
    if (!insert) break;
    sqlite3_bind_blob(insert.get(), 1, &entry->first, sizeof(CacheKey), SQLITE_STATIC);
    sqlite3_bind_blob(insert.get(), 2, entry->second.value.data(),
                      static_cast<int>(entry->second.value.size()), SQLITE_STATIC);
    sqlite3_step(insert.get());
    sqlite3_reset(insert.get());
  }
  sqlite3_exec(database.get(), "COMMIT", nullptr, nullptr, nullptr);
}

}  // namespace torchport::project
