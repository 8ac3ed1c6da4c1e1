#include "runtime/virtual/core/history.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>
#include <torch/csrc/profiler/combined_traceback.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

using device::MemoryAction;
using device::MemoryEvent;
using Traceback = std::shared_ptr<torch::CapturedTraceback>;

struct HistoryEntry {
  MemoryEvent event;
  std::int64_t microseconds = 0;
  Traceback traceback;
};

struct HistoryOfDevice {
  std::deque<HistoryEntry> events;
  std::uint64_t dropped = 0;  // older events than those, which were too many
  std::unordered_map<std::uint64_t, Traceback> live;
};

struct State {
  std::mutex mutex;
  HistoryOptions options;
  std::vector<HistoryOfDevice> records;  // per device
};

State& state() {
  static auto* state = new State();
  return *state;
}

std::atomic<HistoryContext> context_wanted{HistoryContext::kNone};
std::atomic<bool> cpp_wanted{false};
thread_local Traceback here;

std::int64_t now() {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  return duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void note(std::size_t device, const MemoryEvent& event) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  HistoryOfDevice& record = all.records[device];
  if (event.action == MemoryAction::kAlloc && here != nullptr) record.live[event.address] = here;
  Traceback traceback = here;
  const auto freed = record.live.find(event.address);
  const bool is_free =
      event.action == MemoryAction::kFreeRequested || event.action == MemoryAction::kFreeCompleted;
  // Without lines of its own, what is freed has those of its allocation.
  if (is_free && traceback == nullptr && freed != record.live.end()) traceback = freed->second;
  if (event.action == MemoryAction::kFreeCompleted && freed != record.live.end())
    record.live.erase(freed);
  if (!all.options.events) return;
  if (all.options.context < HistoryContext::kAllocations) traceback = nullptr;
  record.events.push_back({event, now(), std::move(traceback)});
  if (record.events.size() > all.options.max_entries) {
    record.events.pop_front();
    ++record.dropped;
  }
}

// Stores each traceback once, however many events share it.
class Tracebacks {
 public:
  std::int64_t number_of(const Traceback& traceback) {
    if (traceback == nullptr) return -1;
    const auto [found, fresh] = numbers_.try_emplace(traceback.get(), kept_.size());
    if (fresh) {
      kept_.push_back(traceback);
      raw_.push_back(traceback.get());
    }
    return static_cast<std::int64_t>(found->second);
  }

  void write_to(nlohmann::json& result) const {
    const torch::SymbolizedTracebacks symbols = torch::symbolize(raw_);
    nlohmann::json frames = nlohmann::json::array();
    for (const auto& frame : symbols.all_frames)
      frames.push_back({frame.filename, frame.lineno, frame.funcname});
    result["frames"] = std::move(frames);
    result["tracebacks"] = symbols.tracebacks;
  }

 private:
  std::unordered_map<torch::CapturedTraceback*, std::size_t> numbers_;
  std::vector<Traceback> kept_;
  std::vector<torch::CapturedTraceback*> raw_;
};

const char* name_of(MemoryAction action) {
  switch (action) {
    case MemoryAction::kAlloc:
      return "alloc";
    case MemoryAction::kFreeRequested:
      return "free_requested";
    case MemoryAction::kFreeCompleted:
      return "free_completed";
    case MemoryAction::kSegmentAlloc:
      return "segment_alloc";
    case MemoryAction::kSegmentFree:
      return "segment_free";
    case MemoryAction::kSegmentMap:
      return "segment_map";
    case MemoryAction::kSegmentUnmap:
      return "segment_unmap";
    case MemoryAction::kOutOfMemory:
      return "oom";
  }
  return "";
}

void record(bool on, bool events, std::int64_t context, bool cpp, std::int64_t max_entries,
            bool clear) {
  record_history({on, events, static_cast<HistoryContext>(context), cpp,
                  static_cast<std::size_t>(max_entries), clear});
}

std::string history(std::int64_t device) {
  return history_of(static_cast<c10::DeviceIndex>(device));
}

// How many older events of a device were more than the record may have.
std::int64_t history_dropped(std::int64_t device) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const auto index = static_cast<std::size_t>(device);
  if (index >= state().records.size()) return 0;
  return static_cast<std::int64_t>(state().records[index].dropped);
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def(
      "record_history(bool on, bool events, int context, bool cpp, int max_entries, bool clear) -> "
      "()",
      &record);
  library.def("history(int device) -> str", &history);
  library.def("history_dropped(int device) -> int", &history_dropped);
}

}  // namespace

void record_history(const HistoryOptions& options) {
  const c10::DeviceIndex count = Runtime::get().count();
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().options = options;
    state().records.resize(static_cast<std::size_t>(count));
    // As recordHistory() of the real allocator: the trace goes, the lines of what is in use stay.
    if (options.clear || !options.on) {
      for (HistoryOfDevice& record : state().records) record.events.clear(), record.dropped = 0;
    }
  }
  cpp_wanted = options.cpp;
  context_wanted = options.on ? options.context : HistoryContext::kNone;
  for (c10::DeviceIndex i = 0; i < count; ++i) {
    device::MemoryObserver observer;
    if (options.on)
      observer = [i](const MemoryEvent& event) { note(static_cast<std::size_t>(i), event); };
    Runtime::get().memory(i).observe(std::move(observer));
  }
}

HistoryScope::HistoryScope(Of of) {
  const HistoryContext wanted = context_wanted.load(std::memory_order_relaxed);
  if (wanted == HistoryContext::kNone) return;
  if (of == Of::kFree && wanted != HistoryContext::kAll) return;
  here = torch::CapturedTraceback::gather(true, true, cpp_wanted);
  set_ = true;
}

HistoryScope::~HistoryScope() {
  if (set_) here.reset();
}

std::string history_of(c10::DeviceIndex device) {
  HistoryOfDevice copy;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    const auto index = static_cast<std::uint8_t>(device);
    if (index < state().records.size()) copy = state().records[index];
  }
  Tracebacks tracebacks;
  nlohmann::json events = nlohmann::json::array();
  for (const HistoryEntry& entry : copy.events) {
    const MemoryEvent& event = entry.event;
    events.push_back({name_of(event.action), event.address, event.size, event.stream,
                      entry.microseconds, event.device_free,
                      tracebacks.number_of(entry.traceback)});
  }
  nlohmann::json live = nlohmann::json::array();
  for (const auto& [address, traceback] : copy.live)
    live.push_back({address, tracebacks.number_of(traceback)});
  nlohmann::json result = {{"events", std::move(events)}, {"live", std::move(live)}};
  tracebacks.write_to(result);
  return result.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace torchport::vdev
