#include "runtime/virtual/planning/memory_record.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/watch/source_lines.h"

namespace torchport::vdev {

namespace detail {
std::atomic<bool> memory_is_recorded{false};
}

namespace {

// What a block holds. The names are those of the report.
enum class Holds : std::uint8_t {
  kParameters,
  kGradients,
  kOptimizer,
  kActivations,
  kBackward,  // gradients of activations, and what is computed again
  kStep,      // temporary memory of an optimizer's step
  kWorkspaces,
  kInputs,  // taken outside of modules, and without gradients
};

constexpr const char* kNames[] = {"parameters",  "gradients",        "optimizer states",
                                  "activations", "backward pass",    "optimizer's step",
                                  "workspaces",  "inputs and others"};

struct Event {
  std::uint64_t address;
  std::uint64_t bytes;  // 0: the block at `address` was given back
  std::int32_t line;
  std::int32_t module;
  Holds holds;
};

struct Failure {
  std::uint64_t bytes;
  std::string line;
  std::int32_t module;
};

// What was taken on one device.
struct DeviceRecord {
  std::vector<Event> events;
  std::unordered_map<std::uint64_t, std::size_t> live;  // the event that took the block
  std::uint64_t held = 0;
  std::uint64_t most_held = 0;
  std::size_t at_most = 0;  // how many events there were then
  std::vector<Failure> failures;
};

thread_local bool takes_workspace = false;

class Record {
 public:
  static Record& get() {
    static auto* one = new Record();
    return *one;
  }

  void taken(c10::DeviceIndex device, std::uint64_t address, std::uint64_t bytes) {
    const auto line = static_cast<std::int32_t>(source_line());
    const Holds holds = holds_now();
    const std::scoped_lock lock(mutex_);
    DeviceRecord& record = of(device);
    if (record.events.size() >= kMostEvents) {
      is_cut_ = true;
      return;
    }
    record.live[address] = record.events.size();
    record.events.push_back({address, bytes, line, module_, holds});
    record.held += bytes;
    if (record.held <= record.most_held) return;
    record.most_held = record.held;
    record.at_most = record.events.size();
  }

  void given_back(c10::DeviceIndex device, std::uint64_t address) {
    const std::scoped_lock lock(mutex_);
    DeviceRecord& record = of(device);
    const auto found = record.live.find(address);
    if (found == record.live.end()) return;
    record.held -= record.events[found->second].bytes;
    record.live.erase(found);
    record.events.push_back({address, 0, 0, 0, Holds::kInputs});
  }

  void out_of_memory(c10::DeviceIndex device, std::uint64_t bytes) {
    std::string line = source_place();
    const std::scoped_lock lock(mutex_);
    of(device).failures.push_back({bytes, std::move(line), module_});
  }

  void mark(const at::Tensor& tensor, Holds holds) {
    if (!tensor.defined() || !is_virtual(tensor.device()) || !tensor.has_storage()) return;
    const std::uint64_t address = block_address(*tensor.storage().unsafeGetStorageImpl());
    const std::scoped_lock lock(mutex_);
    DeviceRecord& record = of(tensor.device().index());
    const auto found = record.live.find(address);
    if (found != record.live.end()) record.events[found->second].holds = holds;
  }

  void enter_module(std::int64_t module) {
    const std::scoped_lock lock(mutex_);
    module_ = static_cast<std::int32_t>(module);
  }
  void set_step(bool begins) { steps_.store(begins, std::memory_order_relaxed); }

  std::string json() {
    const std::scoped_lock lock(mutex_);
    nlohmann::json devices = nlohmann::json::array();
    for (DeviceRecord& record : devices_) devices.push_back(described(record));
    return nlohmann::json{{"devices", devices}, {"cut", is_cut_}}.dump();
  }

 private:
  static constexpr std::size_t kMostEvents = 50'000'000;

  DeviceRecord& of(c10::DeviceIndex device) {
    const auto at = static_cast<std::size_t>(static_cast<unsigned char>(device));
    if (devices_.size() <= at) devices_.resize(at + 1);
    return devices_[at];
  }

  [[nodiscard]] Holds holds_now() const {
    if (takes_workspace) return Holds::kWorkspaces;
    if (torch::autograd::get_current_graph_task_id() >= 0) return Holds::kBackward;
    if (steps_.load(std::memory_order_relaxed)) return Holds::kStep;
    return at::GradMode::is_enabled() && module_ != 0 ? Holds::kActivations : Holds::kInputs;
  }

  // Who held the device's memory when it held most.
  static nlohmann::json described(const DeviceRecord& record) {
    std::unordered_map<std::uint64_t, const Event*> live;
    for (std::size_t i = 0; i < record.at_most; ++i) {
      const Event& event = record.events[i];
      if (event.bytes == 0)
        live.erase(event.address);
      else
        live[event.address] = &event;
    }
    using Key = std::tuple<std::uint8_t, std::int32_t, std::int32_t>;
    std::map<Key, std::pair<std::uint64_t, std::uint64_t>> sums;
    for (const auto& [address, event] : live) {
      auto& [bytes, blocks] =
          sums[{static_cast<std::uint8_t>(event->holds), event->line, event->module}];
      bytes += event->bytes;
      ++blocks;
    }
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& [key, sum] : sums)
      rows.push_back({{"holds", kNames[std::get<0>(key)]},
                      {"line", std::get<1>(key)},
                      {"module", std::get<2>(key)},
                      {"bytes", sum.first},
                      {"blocks", sum.second}});
    nlohmann::json failures = nlohmann::json::array();
    for (const Failure& failure : record.failures)
      failures.push_back(
          {{"bytes", failure.bytes}, {"line", failure.line}, {"module", failure.module}});
    return {{"held", record.most_held}, {"rows", rows}, {"failures", failures}};
  }

  std::mutex mutex_;
  std::vector<DeviceRecord> devices_;
  std::int32_t module_ = 0;
  std::atomic<bool> steps_{false};
  bool is_cut_ = false;
};

void start() {
  detail::memory_is_recorded.store(true, std::memory_order_relaxed);
}

void mark(const std::vector<at::Tensor>& tensors, const std::string& holds) {
  const auto* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                         [&](const char* name) { return holds == name; });
  TORCH_CHECK(found != std::end(kNames), "torchport: no memory is called ", holds);
  for (const at::Tensor& tensor : tensors)
    Record::get().mark(tensor, static_cast<Holds>(found - std::begin(kNames)));
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("record_memory() -> ()", &start);
  library.def("recorded_memory() -> str", [] { return Record::get().json(); });
  library.def("mark_memory(Tensor[] tensors, str holds) -> ()", &mark);
  library.def("memory_of_module(int module) -> ()",
              [](std::int64_t module) { Record::get().enter_module(module); });
  library.def("memory_of_step(bool begins) -> ()",
              [](bool begins) { Record::get().set_step(begins); });
}

}  // namespace

void record_taken(c10::DeviceIndex device, std::uint64_t address, std::uint64_t bytes) {
  Record::get().taken(device, address, bytes);
}

void record_given_back(c10::DeviceIndex device, std::uint64_t address) {
  Record::get().given_back(device, address);
}

void record_out_of_memory(c10::DeviceIndex device, std::uint64_t bytes) {
  Record::get().out_of_memory(device, bytes);
}

TakesWorkspace::TakesWorkspace() : before_(takes_workspace) {
  takes_workspace = true;
}
TakesWorkspace::~TakesWorkspace() {
  takes_workspace = before_;
}

}  // namespace torchport::vdev
