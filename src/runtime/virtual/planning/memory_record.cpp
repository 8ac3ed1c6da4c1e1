#include "runtime/virtual/planning/memory_record.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/planning/memory_log.h"
#include "runtime/virtual/watch/source_lines.h"

namespace torchport::vdev {

namespace detail {
std::atomic<bool> memory_is_recorded{false};
}

namespace {

struct Failure {
  std::uint64_t bytes;
  std::string line;
  std::int32_t module;
};

// What was taken on one device.
struct DeviceRecord {
  MemoryLog log;
  std::vector<Failure> failures;
};

constexpr std::size_t kMostFailures = 1000;

// Blocks of one purpose, line and module are one row.
nlohmann::json held_rows(const std::vector<HeldBlock>& blocks) {
  using Key = std::tuple<std::uint8_t, std::int32_t, std::int32_t>;
  std::map<Key, std::pair<std::uint64_t, std::uint64_t>> sums;
  for (const HeldBlock& block : blocks) {
    auto& [bytes, count] = sums[{static_cast<std::uint8_t>(block.holds), block.line, block.module}];
    bytes += block.bytes;
    ++count;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [key, sum] : sums)
    rows.push_back({{"holds", kHoldsNames.at(std::get<0>(key))},
                    {"line", std::get<1>(key)},
                    {"module", std::get<2>(key)},
                    {"bytes", sum.first},
                    {"blocks", sum.second}});
  return rows;
}

// A list for each figure, with an item for each moment.
nlohmann::json timeline_of(const MemoryLog::Told& told) {
  nlohmann::json held = nlohmann::json::object();
  for (std::size_t i = 0; i < kHoldsNames.size(); ++i) {
    std::vector<std::uint64_t> bytes;
    for (const MemoryMoment& moment : told.timeline) bytes.push_back(moment.held.at(i));
    if (std::any_of(bytes.begin(), bytes.end(), [](std::uint64_t one) { return one != 0; }))
      held[kHoldsNames.at(i)] = bytes;
  }
  std::vector<std::uint64_t> at;
  std::vector<std::uint64_t> allocated;
  std::vector<std::uint64_t> reserved;
  for (const MemoryMoment& moment : told.timeline) {
    at.push_back(moment.event);
    allocated.push_back(moment.allocated);
    reserved.push_back(moment.reserved);
  }
  return {{"events", told.events}, {"at", at},     {"allocated", allocated},
          {"reserved", reserved},  {"held", held}, {"peak", told.most.event}};
}

nlohmann::json described(const DeviceRecord& record) {
  const MemoryLog::Told told = record.log.told();
  nlohmann::json failures = nlohmann::json::array();
  for (const Failure& failure : record.failures)
    failures.push_back(
        {{"bytes", failure.bytes}, {"line", failure.line}, {"module", failure.module}});
  nlohmann::json result = {{"held", told.most.allocated},
                           {"most_reserved", told.most_reserved},
                           {"rows", held_rows(told.at_most)},
                           {"timeline", timeline_of(told)},
                           {"failures", failures}};
  if (told.ran_out_at) {
    result["timeline"]["ran_out"] = *told.ran_out_at;
    result["rows_when_it_ran_out"] = held_rows(told.at_ran_out);
  }
  return result;
}

thread_local bool takes_workspace = false;

class Record {
 public:
  static Record& get() {
    static auto* one = new Record();
    return *one;
  }

  void taken(c10::DeviceIndex device, std::uint64_t address, std::uint64_t bytes,
             std::uint64_t reserved) {
    const auto line = static_cast<std::int32_t>(source_line());
    const Holds holds = holds_now();
    const std::scoped_lock lock(mutex_);
    of(device).log.taken(address, {bytes, line, module_, holds}, reserved);
  }

  void given_back(c10::DeviceIndex device, std::uint64_t address) {
    const std::scoped_lock lock(mutex_);
    of(device).log.given_back(address);
  }

  void out_of_memory(c10::DeviceIndex device, std::uint64_t bytes) {
    std::string line = source_place();
    const std::scoped_lock lock(mutex_);
    DeviceRecord& record = of(device);
    record.log.ran_out();
    if (record.failures.size() < kMostFailures)
      record.failures.push_back({bytes, std::move(line), module_});
  }

  void mark(const at::Tensor& tensor, Holds holds) {
    const std::uint64_t address = address_of(tensor);
    if (address == 0) return;
    const std::scoped_lock lock(mutex_);
    of(tensor.device().index()).log.mark(address, holds);
  }

  void communicates(const at::Tensor& tensor) {
    const std::uint64_t address = address_of(tensor);
    if (address == 0) return;
    const std::scoped_lock lock(mutex_);
    MemoryLog& log = of(tensor.device().index()).log;
    const std::optional<Holds> holds = log.holds(address);
    if (holds == Holds::kInputs || holds == Holds::kBackward)
      log.mark(address, Holds::kCommunication);
  }

  void enter_module(std::int64_t module) {
    const std::scoped_lock lock(mutex_);
    module_ = static_cast<std::int32_t>(module);
  }
  void set_step(bool begins) { steps_.store(begins, std::memory_order_relaxed); }

  std::string json() {
    const std::scoped_lock lock(mutex_);
    nlohmann::json devices = nlohmann::json::array();
    for (const DeviceRecord& record : devices_) devices.push_back(described(record));
    return nlohmann::json{{"devices", devices}}.dump();
  }

 private:
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

  // The address of a tensor's block; 0 if it has none.
  static std::uint64_t address_of(const at::Tensor& tensor) {
    if (!tensor.defined() || !is_virtual(tensor.device()) || !tensor.has_storage()) return 0;
    return block_address(*tensor.storage().unsafeGetStorageImpl());
  }

  std::mutex mutex_;
  std::vector<DeviceRecord> devices_;
  std::int32_t module_ = 0;
  std::atomic<bool> steps_{false};
};

void start() {
  detail::memory_is_recorded.store(true, std::memory_order_relaxed);
}

void mark(const std::vector<at::Tensor>& tensors, const std::string& holds) {
  const auto* const found = std::find_if(std::begin(kHoldsNames), std::end(kHoldsNames),
                                         [&](const char* name) { return holds == name; });
  TORCH_CHECK(found != std::end(kHoldsNames), "torchport: no memory is called ", holds);
  for (const at::Tensor& tensor : tensors)
    Record::get().mark(tensor, static_cast<Holds>(found - std::begin(kHoldsNames)));
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

void record_taken(c10::DeviceIndex device, std::uint64_t address, std::uint64_t bytes,
                  std::uint64_t reserved) {
  Record::get().taken(device, address, bytes, reserved);
}

void record_given_back(c10::DeviceIndex device, std::uint64_t address) {
  Record::get().given_back(device, address);
}

void record_out_of_memory(c10::DeviceIndex device, std::uint64_t bytes) {
  Record::get().out_of_memory(device, bytes);
}

void record_communication(const at::Tensor& tensor) {
  Record::get().communicates(tensor);
}

TakesWorkspace::TakesWorkspace() : before_(takes_workspace) {
  takes_workspace = true;
}
TakesWorkspace::~TakesWorkspace() {
  takes_workspace = before_;
}

}  // namespace torchport::vdev
