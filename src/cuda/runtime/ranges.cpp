// What is known of the addresses of this process.
#include <algorithm>
#include <deque>
#include <shared_mutex>

#include "cuda/runtime/memory.h"
#include "torchport/runtime_templates.h"

namespace torchport::cuda {

namespace {

struct Ranges {
  std::shared_mutex mutex;
  std::map<const char*, Range> all;
  std::deque<Range> freed;  // the last ones
};
constexpr std::size_t kFreedKept = 256;
Ranges& ranges() {
  static auto* const kRanges = new Ranges();
  return *kRanges;
}

}  // namespace

void add_range(const Range& range) {
  const std::scoped_lock lock(ranges().mutex);
  ranges().all[range.begin] = range;
}

std::optional<Range> take_range(const void* begin, std::initializer_list<Owner> owners) {
  const std::scoped_lock lock(ranges().mutex);
  const auto found = ranges().all.find(static_cast<const char*>(begin));
  if (found == ranges().all.end()) return std::nullopt;
  if (std::find(owners.begin(), owners.end(), found->second.owner) == owners.end())
    return std::nullopt;
  const Range range = found->second;
  ranges().all.erase(found);
  ranges().freed.push_front(range);
  if (ranges().freed.size() > kFreedKept) ranges().freed.pop_back();
  return range;
}

void note_code(const void* begin, const void* code) {
  const std::scoped_lock lock(ranges().mutex);
  const auto found = ranges().all.find(static_cast<const char*>(begin));
  if (found != ranges().all.end()) found->second.code = code;
}

void make_up_range(const void* address) {
  const auto range = range_of(address);
  if (!range || range->made_up) return;
  const std::scoped_lock lock(ranges().mutex);
  const auto found = ranges().all.find(range->begin);
  if (found != ranges().all.end()) found->second.made_up = true;
}

std::optional<Range> freed_range_of(const void* address) {
  const auto* at = static_cast<const char*>(address);
  const std::shared_lock lock(ranges().mutex);
  for (const Range& range : ranges().freed)
    if (at >= range.begin && at < range.begin + range.bytes) return range;
  return std::nullopt;
}

std::optional<Range> range_before(const void* address) {
  const std::shared_lock lock(ranges().mutex);
  auto found = ranges().all.upper_bound(static_cast<const char*>(address));
  if (found == ranges().all.begin()) return std::nullopt;
  return std::prev(found)->second;
}

std::optional<Range> range_of(const void* address) {
  const auto found = range_before(address);
  if (!found ||
      static_cast<const char*>(address) >= found->begin + std::max<std::size_t>(found->bytes, 1))
    return std::nullopt;
  return found;
}

std::vector<Range> ranges_of_device(int device) {
  const std::shared_lock lock(ranges().mutex);
  std::vector<Range> found;
  for (const auto& [begin, range] : ranges().all)
    if (range.device == device) found.push_back(range);
  return found;
}

bool add_variable(const volatile void* address, std::size_t bytes, const char* name,
                  Memory memory) {
  Range range;
  range.begin = static_cast<char*>(const_cast<void*>(address));
  range.bytes = bytes;
  range.owner = memory == Memory::kManaged ? Owner::kManaged : Owner::kVariable;
  range.flags = memory == Memory::kConstant ? 1 : 0;
  range.name = name;
  add_range(range);
  return true;
}

void use_variable(const volatile void* address, std::size_t bytes) {
  const void* begin = const_cast<const void*>(address);
  if (const auto range = range_of(begin); range && range->name != nullptr) return;
  add_variable(address, bytes, "", Memory::kDevice);
}

}  // namespace torchport::cuda
