#include "runtime/virtual/core/pool_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>

#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

constexpr std::size_t kBlockAlignment = 512;  // of blocks, too

struct FreeOfHost {
  void operator()(char* data) const { std::free(data); }  // NOLINT(cppcoreguidelines-no-malloc)
};

struct Segment {
  std::uint64_t size = 0;
  char* data = nullptr;
  std::shared_ptr<char> owner{};  // null if it is the program's
};

struct Segments {
  using Key = std::pair<c10::DeviceIndex, std::uint64_t>;  // device and first address
  std::mutex mutex;
  std::map<Key, Segment> all;

  // Never destroyed: tensors may outlive all static objects.
  static Segments& get() {
    static auto* segments = new Segments();
    return *segments;
  }

  // REQUIRES the mutex.
  std::map<Key, Segment>::iterator around(c10::DeviceIndex device, std::uint64_t address) {
    auto found = all.upper_bound({device, address});
    if (found == all.begin()) return all.end();
    --found;
    const bool inside =
        found->first.first == device && address - found->first.second < found->second.size;
    return inside ? found : all.end();
  }
};

// What lay in segments before a capture.
class Journal {
 public:
  // Notes the bytes of a range, except where they were noted before.
  void note(const Segment& segment, char* begin, std::size_t size) {
    if (fresh_.contains(segment.data)) return;
    char* const end = begin + size;
    auto known = noted_.upper_bound(begin);
    if (known != noted_.begin()) begin = std::max(begin, std::prev(known)->second);
    while (begin < end) {
      char* const stop = known == noted_.end() ? end : std::min(end, known->first);
      if (begin < stop) {
        saved_.push_back({begin, {begin, stop}, segment.owner});
        noted_[begin] = stop;
      }
      if (known == noted_.end()) break;
      begin = std::max(begin, known->second);
      ++known;
    }
  }
  void note_fresh(const char* segment) { fresh_.insert(segment); }

  void restore() const {
    for (const Saved& one : saved_) std::copy(one.bytes.begin(), one.bytes.end(), one.at);
  }

 private:
  struct Saved {
    char* at;
    std::vector<char> bytes;
    std::shared_ptr<char> owner;
  };
  std::vector<Saved> saved_;
  std::map<char*, char*> noted_;  // begin -> end
  std::set<const char*> fresh_;
};

thread_local std::unique_ptr<Journal> journal;

// Memory for the segment around a block of a private pool; none if it is of none.
void make_segment(c10::DeviceIndex device, std::uint64_t address) {
  const device::MemoryModel& memory = Runtime::get().memory(device);
  const auto pool = memory.pool_of(address);
  const auto state = pool ? memory.pool_state(*pool) : std::nullopt;
  if (!state) return;
  for (const device::SegmentView& view : state->segments) {
    if (address < view.address || address - view.address >= view.size) continue;
    Segments& segments = Segments::get();
    const std::lock_guard lock(segments.mutex);
    if (segments.all.contains({device, view.address})) return;  // it has grown since
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): the rest of a segment is not touched
    auto* data = static_cast<char*>(std::aligned_alloc(kBlockAlignment, view.size));
    TORCH_CHECK(data != nullptr, "torchport: the host has no ", view.size,
                " bytes for a segment of a private pool");
    std::shared_ptr<char> owner(data, FreeOfHost());
    segments.all[{device, view.address}] = {view.size, data, std::move(owner)};
    if (journal) journal->note_fresh(data);
    return;
  }
}

void let_go(void* context) {
  delete static_cast<std::shared_ptr<char>*>(context);
}

}  // namespace

void move_to_segment(c10::DeviceIndex device, std::uint64_t address, c10::StorageImpl& twin) {
  Segments& segments = Segments::get();
  std::unique_lock lock(segments.mutex);
  auto found = segments.around(device, address);
  if (found == segments.all.end()) {
    lock.unlock();
    make_segment(device, address);
    lock.lock();
    found = segments.around(device, address);
    if (found == segments.all.end()) return;
  }
  const Segment& segment = found->second;
  const std::uint64_t offset = address - found->first.second;
  if (offset + twin.nbytes() > segment.size) return;
  char* data = segment.data + offset;
  if (journal) journal->note(segment, data, twin.nbytes());
  std::memmove(data, twin.data(), twin.nbytes());
  auto context = std::make_unique<std::shared_ptr<char>>(segment.owner);
  twin.set_data_ptr_noswap({data, context.release(), &let_go, c10::Device(c10::DeviceType::CPU)});
}

void begin_journal() {
  journal = std::make_unique<Journal>();
}

void restore_journal() {
  if (journal) journal->restore();
  journal.reset();
}

std::optional<std::uint64_t> place_of_segment(c10::DeviceIndex device, std::uint64_t address,
                                              std::uint64_t size) {
  Segments& segments = Segments::get();
  const std::lock_guard lock(segments.mutex);
  const auto found = segments.all.find({device, address});
  if (found == segments.all.end() || found->second.size != size) return std::nullopt;
  return reinterpret_cast<std::uintptr_t>(found->second.data);
}

void forget_gone_segments(c10::DeviceIndex device) {
  Segments& segments = Segments::get();
  {
    const std::lock_guard lock(segments.mutex);
    if (segments.all.empty()) return;
  }
  std::set<std::uint64_t> there;
  for (const auto& view : Runtime::get().memory(device).snapshot()) there.insert(view.address);
  const std::lock_guard lock(segments.mutex);
  std::erase_if(segments.all, [&](const auto& one) {
    return one.first.first == device && one.second.owner && !there.contains(one.first.second);
  });
}

void put_segment(c10::DeviceIndex device, std::uint64_t address, std::uint64_t size, void* data) {
  Segments& segments = Segments::get();
  const std::lock_guard lock(segments.mutex);
  segments.all[{device, address}] = {size, static_cast<char*>(data), {}};
}

void* take_segment(c10::DeviceIndex device, std::uint64_t address) {
  Segments& segments = Segments::get();
  const std::lock_guard lock(segments.mutex);
  return segments.all.extract({device, address}).mapped().data;
}

}  // namespace torchport::vdev
