#include "runtime/virtual/planning/work_record.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>
#include <torch/library.h>

#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/pinned.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/planning/operator_work.h"

namespace torchport::vdev {

namespace detail {
std::atomic<bool> work_is_recorded{false};
}

namespace {

// Seconds at the device's peaks, of the operators of one step.
struct Work {
  double least = 0;         // each operator the larger of its two times
  double computes = 0;      // of `least`, where the arithmetic is the larger
  double moves = 0;         // of `least`, where the memory is
  double communicates = 0;  // of collectives
  double from_host = 0;     // of copies, on the link to the host
  double to_host = 0;
  double in_order = 0;     // of both, on the default stream: kernels there wait for them
  double host_waits = 0;   // of both, those that the host waits for
  double copies_most = 0;  // of both, at the rates of slow hosts
  double most = 0;         // `least` at the rates of poor kernels
  std::int64_t operators = 0;
};

double peak_of(const devices::PeakRates& peak, const Arithmetic& work) {
  constexpr double kTera = 1e12;
  switch (work.type) {
    case at::kHalf:
      return kTera * peak.fp16;
    case at::kBFloat16:
      return kTera * peak.bf16;
    case at::kFloat8_e4m3fn:
    case at::kFloat8_e5m2:
      return kTera * peak.fp8;
    case at::kChar:
      return kTera * peak.int8;
    case at::kDouble:
      return kTera * peak.fp64;
    default:
      return kTera * (work.may_use_tf32 && peak.tf32 > 0 ? peak.tf32 : peak.fp32);
  }
}

// A copy between the host and a device.
struct Copy {
  double bytes = 0;
  bool from_host = false;
  bool pinned = false;
  bool host_waits = false;
  bool in_order = false;  // on the default stream
};

// Bytes a second of the link to the host, in one direction; profiles have the sum of both, and none
// where the host has the same memory, or the link is not known: then it is the memory's.
double link_to_host(const devices::Profile& profile) {
  const double link = profile.pcie_bandwidth;
  return 1e9 * (link > 0 ? link / 2 : profile.memory_bandwidth);
}

class WorkRecord {
 public:
  static WorkRecord& get() {
    static auto* one = new WorkRecord();
    return *one;
  }

  void add(c10::DeviceIndex device, const Arithmetic& work, std::uint64_t bytes) {
    const devices::Profile& profile = *Runtime::get().profile();
    const double peak = peak_of(profile.peak, work);
    const double computes = work.operations > 0 && peak > 0 ? work.operations / peak : 0;
    const double moves = profile.memory_bandwidth > 0
                             ? static_cast<double>(bytes) / (1e9 * profile.memory_bandwidth)
                             : 0;
    const std::scoped_lock lock(mutex_);
    if (work.operations > 0 && peak <= 0) lacks_peak_ = true;
    if (profile.memory_bandwidth <= 0) lacks_bandwidth_ = true;
    for (auto& [unit, sums] : since_) {
      Work& sum = sums[device];
      sum.least += std::max(computes, moves);
      (computes > moves ? sum.computes : sum.moves) += std::max(computes, moves);
      sum.most += std::max(computes / kLeastOfPeak, moves / kLeastOfBandwidth);
      ++sum.operators;
    }
  }

  void add_collective(c10::DeviceIndex device, double bytes_on_a_link) {
    const devices::Profile& profile = *Runtime::get().profile();
    // Profiles have the sum of both directions.
    const double link =
        (profile.nvlink_bandwidth > 0 ? profile.nvlink_bandwidth : profile.pcie_bandwidth) / 2;
    const std::scoped_lock lock(mutex_);
    if (link <= 0) lacks_bandwidth_ = true;
    for (auto& [unit, sums] : since_)
      if (link > 0) sums[device].communicates += bytes_on_a_link / (1e9 * link);
  }

  void add_copy(c10::DeviceIndex device, const Copy& copy) {
    const double link = link_to_host(*Runtime::get().profile());
    const std::scoped_lock lock(mutex_);
    if (link <= 0) lacks_bandwidth_ = true;
    const double takes = link > 0 ? copy.bytes / link : 0;
    for (auto& [unit, sums] : since_) {
      Work& sum = sums[device];
      (copy.from_host ? sum.from_host : sum.to_host) += takes;
      if (copy.in_order) sum.in_order += takes;
      if (copy.host_waits) sum.host_waits += takes;
      sum.copies_most += std::max(takes / kLeastOfLink, copy.pinned ? 0 : copy.bytes / kPageable);
      ++sum.operators;
    }
  }

  // A "step" of an optimizer or a "call" of a model ends.
  void end(const std::string& unit) {
    const std::scoped_lock lock(mutex_);
    ended_[unit] = std::exchange(since_[unit], {});
    ++counts_[unit];
  }

  std::string json() {
    const std::scoped_lock lock(mutex_);
    // The unit that says most.
    const std::string unit = counts_["step"] > 0   ? "step"
                             : counts_["call"] > 0 ? "call"
                                                   : "program";
    nlohmann::json devices = nlohmann::json::array();
    for (const auto& [device, work] : unit == "program" ? since_[unit] : ended_[unit])
      devices.push_back(described(device, work));
    return nlohmann::json{
        {"unit", unit}, {"is_known", !lacks_peak_ && !lacks_bandwidth_}, {"devices", devices}}
        .dump();
  }

 private:
  // What kernels reach at worst of the peaks, and what the host takes to start an operator from
  // Python, in seconds: set by the programs that docs/plan.md names, on an H100.
  static constexpr double kLeastOfPeak = 0.3;
  static constexpr double kLeastOfBandwidth = 0.4;
  static constexpr double kFastStart = 3e-6;
  static constexpr double kSlowStart = 100e-6;
  // What copies reach at worst: of the link from pinned memory (an A100's 12.6 of 32 GB/s,
  // github.com/pytorch/pytorch/pull/138018), and bytes a second where the host first copies to or
  // from memory that is not pinned (1.4 GB/s there).
  static constexpr double kLeastOfLink = 0.39;
  static constexpr double kPageable = 1.4e9;

  static nlohmann::json described(c10::DeviceIndex device, const Work& work) {
    const auto count = static_cast<double>(work.operators);
    const double copies = std::max({work.from_host, work.to_host, work.in_order});
    const double least = std::max({work.least + work.in_order, work.communicates, copies,
                                   count * kFastStart + work.host_waits});
    const double most = std::max(work.most, count * kSlowStart) + work.copies_most +
                        work.communicates / kLeastOfBandwidth;
    return {{"device", device},
            {"least", least},
            {"most", most},
            {"compute", work.computes},
            {"memory", work.moves},
            {"communication", work.communicates},
            {"copies", copies},
            {"copies_from_host", work.from_host},
            {"copies_to_host", work.to_host},
            {"host", count * kFastStart},
            {"operators", work.operators}};
  }

  std::mutex mutex_;
  using ByDevice = std::map<c10::DeviceIndex, Work>;
  std::map<std::string, ByDevice> since_ = {{"step", {}}, {"call", {}}, {"program", {}}};
  std::map<std::string, ByDevice> ended_;  // the last of each unit
  std::map<std::string, std::int64_t> counts_;
  bool lacks_peak_ = false;
  bool lacks_bandwidth_ = false;
};

// NOLINTNEXTLINE(performance-unnecessary-value-param): torch asks for values
void record_compiled_kernel(std::vector<at::Tensor> arguments) {
  if (records_work()) record_compiled(arguments);
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("record_work() -> ()",
              [] { detail::work_is_recorded.store(true, std::memory_order_relaxed); });
  library.def("record_compiled_kernel(Tensor[] arguments) -> ()", &record_compiled_kernel);
  library.def("end_of_work(str unit) -> ()",
              [](const std::string& unit) { WorkRecord::get().end(unit); });
  library.def("recorded_work() -> str", [] { return WorkRecord::get().json(); });
}

}  // namespace

std::uint64_t device_bytes(const c10::IValue& value) {
  std::uint64_t bytes = 0;
  observer::each_tensor(value, [&](const at::Tensor& tensor) {
    if (tensor.defined() && is_virtual(tensor.device()) && !tensor.is_sparse())
      bytes += tensor.nbytes();
  });
  return bytes;
}

void record_work(ArithmeticOf arithmetic, c10::DeviceIndex device,
                 const std::vector<c10::IValue>& arguments, c10::ArrayRef<c10::IValue> results) {
  std::uint64_t bytes = 0;
  for (const c10::IValue& value : arguments) bytes += device_bytes(value);
  for (const c10::IValue& value : results) bytes += device_bytes(value);
  const Arithmetic work =
      arithmetic == nullptr ? Arithmetic{} : arithmetic(arguments.data(), results.data());
  WorkRecord::get().add(device, work, bytes);
}

void record_copy(c10::DeviceIndex device, const std::vector<c10::IValue>& arguments) {
  const at::Tensor& to = arguments[0].toTensor();
  const at::Tensor& from = arguments[1].toTensor();
  if (!to.defined() || !from.defined()) return;
  if (is_virtual(to.device()) && is_virtual(from.device())) {
    WorkRecord::get().add(device, {}, device_bytes(arguments[0]) + device_bytes(arguments[1]));
    return;
  }
  const bool from_host = is_virtual(to.device());
  const at::Tensor& host = from_host ? from : to;
  const bool pinned = host.has_storage() && is_pinned(host.storage().data());
  // What has another type is converted where it is (copy_kernel_cuda in
  // aten/src/ATen/native/cuda/Copy.cu).
  record_host_copy(device, to.nbytes(), from_host, pinned, !(pinned && arguments[2].toBool()));
}

void record_host_copy(c10::DeviceIndex device, std::uint64_t bytes, bool from_host, bool pinned,
                      bool host_waits) {
  WorkRecord::get().add_copy(device, {.bytes = static_cast<double>(bytes),
                                      .from_host = from_host,
                                      .pinned = pinned,
                                      .host_waits = host_waits,
                                      .in_order = current_stream(device) == 0});
}

void record_kernel(c10::DeviceIndex device, std::uint64_t bytes) {
  WorkRecord::get().add(device, {}, bytes);
}

void record_compiled(at::TensorList arguments) {
  std::uint64_t bytes = 0;
  c10::DeviceIndex device = -1;
  for (const at::Tensor& one : arguments) {
    if (one.defined() && is_virtual(one.device())) device = one.device().index();
    bytes += device_bytes(one);
  }
  if (device >= 0) WorkRecord::get().add(device, {}, bytes);
}

void record_collective(const std::string& name, c10::DeviceIndex device, std::uint64_t bytes,
                       int ranks) {
  if (ranks < 2) return;
  // What crosses a link in a ring: github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md.
  const double share = static_cast<double>(ranks - 1) / ranks;
  const bool both_ways = name.find("allreduce") != std::string::npos;
  const bool is_copy = name.find("broadcast") != std::string::npos ||
                       name.find("send") != std::string::npos ||
                       name.find("recv") != std::string::npos || name.ends_with("::reduce_");
  const double crosses = is_copy ? 1 : both_ways ? 2 * share : share;
  WorkRecord::get().add_collective(device, crosses * static_cast<double>(bytes));
}

}  // namespace torchport::vdev
