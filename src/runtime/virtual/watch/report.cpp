#include "runtime/virtual/watch/report.h"

#include <new>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/watch/source_lines.h"

namespace torchport::vdev {

// The devices of the tensors among some values.
struct RunReport::Places {
  bool host = false;
  bool device = false;
  std::uint64_t device_bytes = 0;
  c10::DeviceIndex first = -1;

  void add(const c10::IValue& value) {
    observer::each_tensor(value, [&](const at::Tensor& tensor) {
      if (tensor.device().is_cpu()) host = true;
      if (!is_virtual(tensor.device())) return;
      device = true;
      if (first < 0) first = tensor.device().index();
      if (tensor.has_storage())
        device_bytes += static_cast<std::uint64_t>(tensor.numel()) * tensor.itemsize();
    });
  }
};

void RunReport::observe(observer::Call& call) {
  const observer::OperatorSemantics& semantics = call.semantics();
  Places before;
  for (const std::uint16_t i : semantics.tensor_inputs) before.add(call.arguments()[i]);
  const bool reads = before.device && semantics.reads_values(call.arguments());
  call.proceed();
  {
    const std::lock_guard<std::mutex> lock(counts_->mutex);
    ++counts_->operators[call.op().operator_name().name];
  }
  count_transfer(call, before, reads);
}

void RunReport::count_transfer(const observer::Call& call, const Places& before, bool reads) {
  if (reads) return transferred(Transfer::kRead, 0);
  Places after;
  for (const c10::IValue& result : call.results()) after.add(result);
  if (after.device && before.host && (!before.device || call.semantics().copies_into_first)) {
    transferred(Transfer::kToDevice, after.device_bytes);
  } else if (before.device && !after.device && after.host) {
    transferred(Transfer::kToHost, before.device_bytes);
  } else if (before.device && after.device && before.first != after.first) {
    transferred(Transfer::kBetween, after.device_bytes);
  }
}

void RunReport::transferred(Transfer kind, std::uint64_t bytes) {
  const std::int64_t line = source_line();
  const std::lock_guard<std::mutex> lock(counts_->mutex);
  Sum& sum = counts_->transfers[{kind, line}];
  ++sum.count;
  sum.bytes += bytes;
}

void RunReport::after_fork_in_child() noexcept {
  auto* counts = new (std::nothrow) Counts();
  if (counts == nullptr) return stop();
  counts_ = counts;
}

std::string RunReport::json() const {
  static constexpr const char* kNames[] = {"to device", "to host", "between devices",
                                           "synchronising read"};
  const std::lock_guard<std::mutex> lock(counts_->mutex);
  nlohmann::json result = {{"operators", counts_->operators},
                           {"transfers", nlohmann::json::array()}};
  for (const auto& [key, sum] : counts_->transfers) {
    result["transfers"].push_back({{"kind", kNames[static_cast<std::size_t>(key.first)]},
                                   {"line", key.second},
                                   {"count", sum.count},
                                   {"bytes", sum.bytes}});
  }
  return result.dump();
}

}  // namespace torchport::vdev
