#include "runtime/virtual/core/tensor_bytes.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "runtime/virtual/core/pinned.h"

namespace torchport::vdev {

namespace {

struct Bytes {
  std::size_t count = 0;
  std::size_t holders = 0;  // storages that share them
  std::string shape;        // "float32[3, 4]"
};
struct Noted {
  std::mutex mutex;
  std::map<const char*, Bytes> all;
  std::deque<std::pair<const char*, Bytes>> freed;  // the last ones
};
constexpr std::size_t kFreedKept = 1024;
// How far behind its end a storage is named.
constexpr std::ptrdiff_t kNear = std::ptrdiff_t{1} << 20U;

Noted* noted() {
  static Noted* const kNoted = [] {
    const char* wanted = std::getenv("TORCHPORT_CHECK_KERNELS");
    return wanted == nullptr || *wanted == '\0' ? nullptr : new Noted();
  }();
  return kNoted;
}

// How far behind the end of a storage an access counts as one of it, if what else was there is
// older.
constexpr std::ptrdiff_t kBeside = 256;

// Of the storages that begin there or before, the last one; the end if there is none.
std::map<const char*, Bytes>::const_iterator last_before(const Noted& noted, const char* at) {
  const auto after = noted.all.upper_bound(at);
  return after == noted.all.begin() ? noted.all.end() : std::prev(after);
}

std::string words_of(const Bytes& bytes) {
  return bytes.shape.empty() ? fmt::format("a tensor of {} bytes", bytes.count)
                             : "tensor " + bytes.shape;
}

void say(const char* begin, const Bytes& bytes, bool freed, cuda::TensorBytes* found, char* text,
         std::size_t room) {
  *found = {begin, bytes.count, freed};
  std::snprintf(text, room, "%s%s", words_of(bytes).c_str(), freed ? ", which was freed" : "");
}

}  // namespace

void note_bytes(const void* begin, std::size_t bytes) {
  Noted* all = noted();
  if (all == nullptr || begin == nullptr || bytes == 0) return;
  const std::scoped_lock lock(all->mutex);
  Bytes& one = all->all[static_cast<const char*>(begin)];
  one.count = std::max(one.count, bytes);
  ++one.holders;
}

void forget_bytes(const void* begin) {
  Noted* all = noted();
  if (all == nullptr || begin == nullptr) return;
  const std::scoped_lock lock(all->mutex);
  const auto found = all->all.find(static_cast<const char*>(begin));
  if (found == all->all.end() || --found->second.holders > 0) return;
  all->freed.emplace_front(found->first, std::move(found->second));
  if (all->freed.size() > kFreedKept) all->freed.pop_back();
  all->all.erase(found);
}

void note_shape(const void* begin, const c10::TensorImpl& tensor) {
  Noted* all = noted();
  if (all == nullptr || begin == nullptr || tensor.is_nested()) return;
  const std::scoped_lock lock(all->mutex);
  const auto found = all->all.find(static_cast<const char*>(begin));
  if (found == all->all.end() || !found->second.shape.empty()) return;
  std::string shape;
  for (const std::int64_t size : tensor.sizes())
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", size);
  found->second.shape = fmt::format(
      "{}[{}]", c10::getDtypeNames(c10::typeMetaToScalarType(tensor.dtype())).first, shape);
}

bool find_bytes(const void* address, cuda::TensorBytes* found) {
  Noted* all = noted();
  if (all == nullptr) return false;
  const auto* at = static_cast<const char*>(address);
  {
    const std::scoped_lock lock(all->mutex);
    const auto before = last_before(*all, at);
    if (before != all->all.end() && at < before->first + before->second.count) {
      *found = {before->first, before->second.count, false};
      return true;
    }
  }
  if (!is_pinned(address)) return false;
  *found = {at, 1, false};
  return true;
}

bool describe_bytes(const void* address, cuda::TensorBytes* found, char* text, std::size_t room) {
  Noted* all = noted();
  if (all == nullptr) return false;
  const auto* at = static_cast<const char*>(address);
  const std::scoped_lock lock(all->mutex);
  const auto before = last_before(*all, at);
  const bool has_before = before != all->all.end();
  if (has_before && at < before->first + before->second.count) {
    say(before->first, before->second, false, found, text, room);
    return true;
  }
  const char* end = has_before ? before->first + before->second.count : nullptr;
  for (const auto& [begin, bytes] : all->freed) {
    if (at < begin || at >= begin + bytes.count) continue;
    // Of two storages at one place the one that is there is the younger.
    if (has_before && begin < end && at - end < kBeside) continue;
    say(begin, bytes, true, found, text, room);
    return true;
  }
  if (!has_before || at - end > kNear) return false;
  say(before->first, before->second, false, found, text, room);
  return true;
}

}  // namespace torchport::vdev
