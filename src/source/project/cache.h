// Results of earlier runs, by content: a file whose bytes, path and settings
// are what they were is not looked at again.
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

// XXH3-128 over all parts, with their lengths.
[[nodiscard]] CacheKey cache_key(std::initializer_list<std::string_view> parts);

// One database a project. Read whole at the start, written once at the end;
// get() and put() are safe from any thread. A cache that cannot be read or
// written is an empty one: it never fails a run.
class Cache {
 public:
  // An empty path gives a cache that keeps nothing.
  explicit Cache(std::string path);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache();

  // Null when unknown. The text stays valid as long as the cache.
  [[nodiscard]] const std::string* get(const CacheKey& key);
  void put(const CacheKey& key, std::string value);
  // Writes what is new and drops what no run has used for a while.
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
