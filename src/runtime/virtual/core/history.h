// Records what happened to the memory of virtual devices, and which lines of the program did it. It
// is the record behind torch.cuda.memory._record_memory_history() and _snapshot().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <c10/core/Device.h>

namespace torchport::vdev {

// What is recorded with its lines: nothing, memory in use, the events of allocations as well, or
// those of freeing, too (RecordContext of c10/cuda/CUDACachingAllocator.h).
enum class HistoryContext : std::uint8_t { kNone, kInUse, kAllocations, kAll };

struct HistoryOptions {
  bool on = false;
  bool events = false;  // record events, and not only where live memory was allocated
  HistoryContext context = HistoryContext::kNone;
  bool cpp = false;             // lines of C++, too
  std::size_t max_entries = 0;  // per device
  bool clear = false;
};
void record_history(const HistoryOptions& options);

// While this object lives, memory operations of this thread are attributed to the lines that the
// program was at when it was constructed. The lines are collected outside of all locks, because
// that takes Python's global interpreter lock.
class [[nodiscard]] HistoryScope {
 public:
  enum class Of : std::uint8_t { kAllocation, kFree };
  explicit HistoryScope(Of of);
  ~HistoryScope();
  HistoryScope(const HistoryScope&) = delete;
  HistoryScope& operator=(const HistoryScope&) = delete;

 private:
  bool set_ = false;
};

// The record as JSON: "frames": [[file, line, function]], "tracebacks": [[frame]], "events":
// [[action, address, size, stream, microseconds, device_free, traceback or -1]], "live":
// [[address, traceback]].
[[nodiscard]] std::string history_of(c10::DeviceIndex device);

}  // namespace torchport::vdev
