#include "runtime/virtual/watch/watch.h"

#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <nlohmann/json.hpp>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/watch/source_lines.h"
#include "runtime/virtual/watch/trace.h"

namespace torchport::vdev {

namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using torch::jit::Stack;

constexpr DispatchKey kMode = DispatchKey::TESTING_ONLY_GenericMode;

enum class Transfer : std::uint8_t { kToDevice, kToHost, kBetween, kRead, kCount };
constexpr std::array<const char*, static_cast<std::size_t>(Transfer::kCount)> kTransferNames{
    "to device", "to host", "between devices", "synchronising read"};

class Counts {
 public:
  static Counts& get() {
    static auto* counts = new Counts();
    return *counts;
  }

  void operator_called(const c10::OperatorHandle& op) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++operators_[op.operator_name().name];
  }
  void transferred(Transfer kind, std::uint64_t bytes) {
    const std::int64_t line = source_line();
    const std::lock_guard<std::mutex> lock(mutex_);
    Sum& sum = transfers_[{kind, line}];
    ++sum.count;
    sum.bytes += bytes;
  }
  std::string json() {
    const std::lock_guard<std::mutex> lock(mutex_);
    nlohmann::json result = {{"operators", operators_}, {"transfers", nlohmann::json::array()}};
    for (const auto& [key, sum] : transfers_) {
      result["transfers"].push_back({{"kind", kTransferNames[static_cast<std::size_t>(key.first)]},
                                     {"line", key.second},
                                     {"count", sum.count},
                                     {"bytes", sum.bytes}});
    }
    return result.dump();
  }

 private:
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };

  std::map<std::string, std::uint64_t> operators_;
  std::map<std::pair<Transfer, std::int64_t>, Sum> transfers_;
  std::mutex mutex_;
};

// The devices that the tensors among some values are on.
struct Places {
  bool host = false;
  bool device = false;
  std::uint64_t device_bytes = 0;
  c10::DeviceIndex first = -1;
};

void look(const IValue& value, Places& places) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return;
    if (tensor.device().is_cpu()) places.host = true;
    if (!is_virtual(tensor.device())) return;
    places.device = true;
    if (places.first < 0) places.first = tensor.device().index();
    if (tensor.has_storage())
      places.device_bytes += static_cast<std::uint64_t>(tensor.numel()) * tensor.itemsize();
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) look(tensor, places);
  }
}

bool returns_number(const Stack& stack, std::size_t results) {
  const IValue& last = stack.back();
  return results == 1 && (last.isScalar() || last.isBool());
}

// Operators that ask a tensor about itself read no data of it.
bool asks_only(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames{
      "aten::is_",   "aten::size",        "aten::stride",   "aten::dim",
      "aten::numel", "aten::result_type", "aten::can_cast", "aten::_has"};
  if (name == "aten::is_nonzero") return false;
  for (const std::string_view known : kNames) {
    if (name.starts_with(known)) return true;
  }
  return name == "aten::_version" || name == "aten::_use_cudnn_ctc_loss" ||
         name == "aten::_fused_sdp_choice";
}

void count(const c10::OperatorHandle& op, const Places& before, const Stack& stack) {
  if (op.operator_name().name.starts_with("torchport::")) return;  // what answers for torch.cuda
  Counts& counts = Counts::get();
  counts.operator_called(op);
  const std::size_t results = op.schema().returns().size();
  if (results == 0 || stack.size() < results) return;
  const std::string& name = op.operator_name().name;
  if (before.device && returns_number(stack, results) && !asks_only(name)) {
    counts.transferred(Transfer::kRead, 0);
    return;
  }
  Places after;
  for (std::size_t i = stack.size() - results; i < stack.size(); ++i) look(stack[i], after);
  const bool copies = name == "aten::copy_";
  if (after.device && !before.device && before.host) {
    counts.transferred(Transfer::kToDevice, after.device_bytes);
  } else if (copies && after.device && before.host) {
    counts.transferred(Transfer::kToDevice, after.device_bytes);
  } else if (before.device && !after.device && after.host) {
    counts.transferred(Transfer::kToHost, before.device_bytes);
  } else if (before.device && after.device && before.first != after.first) {
    counts.transferred(Transfer::kBetween, after.device_bytes);
  }
}

// Whether a report is asked for: looked up once, not for each operator.
bool reports() {
  static const bool kAsked = std::getenv("TORCHPORT_REPORT") != nullptr;
  return kAsked;
}

// What an operator that returns nothing writes to.
std::vector<IValue> written_by(const c10::OperatorHandle& op, const Stack& stack) {
  std::vector<IValue> written;
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::AliasInfo* alias = arguments[i].alias_info();
    if (alias != nullptr && alias->isWrite())
      written.push_back(stack[stack.size() - arguments.size() + i]);
  }
  return written;
}

void watch(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(kMode);
  const std::size_t arguments = op.schema().arguments().size();
  Places before;
  if (reports()) {
    for (std::size_t i = stack->size() - arguments; i < stack->size(); ++i)
      look((*stack)[i], before);
  }
  Trace* trace = Trace::of_environment();
  if (trace != nullptr && !Trace::wants(op)) trace = nullptr;
  const std::size_t results = op.schema().returns().size();
  std::vector<IValue> written;
  if (trace != nullptr && results == 0) written = written_by(op, *stack);
  op.redispatchBoxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, kMode), stack);
  if (trace != nullptr) {
    trace->add(op,
               results == 0
                   ? c10::ArrayRef<IValue>(written)
                   : c10::ArrayRef<IValue>(stack->data() + stack->size() - results, results),
               source_line());
  }
  if (reports()) count(op, before, *stack);
}

struct Start {
  Start() {
    if (!watches()) return;
    static auto* all = new torch::Library(torch::Library::IMPL, "_", kMode, __FILE__, __LINE__);
    all->fallback(torch::CppFunction::makeFromBoxedFunction<&watch>());
    watch_this_thread();
  }
};

const Start kStart;

}  // namespace

bool watches() {
  return reports() || Trace::of_environment() != nullptr;
}

void watch_this_thread() {
  c10::impl::tls_set_dispatch_key_included(kMode, true);
}

std::string watched() {
  return Counts::get().json();
}

void flush_trace() {
  if (Trace* trace = Trace::of_environment()) trace->flush();
}

}  // namespace torchport::vdev
