// Keeps results of earlier runs by content: a file whose bytes, path and settings have not changed
// is not examined again. Modification times would not do as the key, because a checkout changes
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace torchport::project {

struct CacheKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  [[nodiscard]] bool operator==(const CacheKey&) const = default;
};

// A key as bytes, to be a part of another one. Valid as long as the key.
[[nodiscard]] inline std::string_view bytes_of(const CacheKey& key) {
  return {reinterpret_cast<const char*>(&key), sizeof key};
}

// XXH3-128 over all parts and their lengths, so that moving a byte from one part to the next
// changes the key.
[[nodiscard]] CacheKey cache_key(std::initializer_list<std::string_view> parts);

// The cache of one project, in one SQLite file. It is read completely at the start and written once
// at the end. get() and put() are thread safe. A cache that cannot be read or written behaves like
// an empty one and never fails a run.
class Cache {
 public:
  // With an empty path the cache stores nothing.
  explicit Cache(std::string path);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache();

  // The value for a key; null if there is none. The text stays valid as long as the cache.
  [[nodiscard]] const std::string* get(const CacheKey& key);
  void put(const CacheKey& key, std::string value);
  // Writes new entries, and deletes entries that no run has used for a while.
  void store();

 private:
  struct Hash {
    std::size_t operator()(const CacheKey& key) const { return key.low; }
  };
  struct Entry {
    std::string value;
    bool fresh = false;
    bool used = false;
  };

  std::string path_;
  std::mutex mutex_;
  std::unordered_map<CacheKey, Entry, Hash> entries_;
};

}  // namespace torchport::project
