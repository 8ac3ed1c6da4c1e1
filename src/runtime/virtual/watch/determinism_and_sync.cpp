#include "runtime/virtual/watch/determinism_and_sync.h"

#include <atomic>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/pinned.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/torch_releases.h"
#include "runtime/virtual/watch/gpu_trace.h"

namespace torchport::vdev {

namespace {

using c10::IValue;
using observer::Deterministic;
using observer::Waits;

constexpr std::int64_t kWarn = 1;
constexpr std::int64_t kError = 2;

std::atomic<std::int64_t> sync_mode{0};

bool on_device(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() && is_virtual(value.toTensor().device());
}

bool floats(at::ScalarType type) {
  return c10::isFloatingType(type) || c10::isComplexType(type);
}

}  // namespace

void set_sync_debug_mode(std::int64_t mode) {
  sync_mode = mode;
}

std::int64_t sync_debug_mode() {
  return sync_mode;
}

// As warn_or_error_on_sync in c10/cuda/CUDAFunctions.cpp.
void note_synchronization() {
  constexpr const char* kText = "called a synchronizing CUDA operation";
  TORCH_CHECK(sync_mode != kError, kText);
  if (sync_mode == kWarn) {
    c10::warn(c10::Warning(c10::UserWarning(),
                           {"warn_or_error_on_sync", "c10/cuda/CUDAFunctions.cpp", 0},
                           std::string(kText), false));
  }
}

DeterminismAndSync::DeterminismAndSync(const observer::OperatorSemantics& semantics) {
  const bool speaks = semantics.row.deterministic != Deterministic::kAlways ||
                      semantics.row.waits != Waits::kNever ||
                      semantics.has(observer::kNotCaptured) ||
                      semantics.has(observer::kMagmaUnlessSquare);
  if (speaks && Runtime::get().kind().dense == c10::DispatchKey::CUDA) semantics_ = &semantics;
}

void DeterminismAndSync::check(const IValue* arguments) const {
  if (at::globalContext().deterministicAlgorithms() && !is_deterministic(arguments))
    at::Context::alertNotDeterministic(semantics_->row.caller);
  if (sync_mode == 0 && !gpu_is_traced() && !any_capture()) return;
  const c10::DeviceIndex device = device_of(arguments);
  const std::int64_t stream = current_stream(device);
  if (any_capture()) {
    check_captured(arguments, device, stream);
    if (semantics_->waits_in_libraries(arguments)) check_wait_in_capture(device, stream);
  }
  if (!waits(arguments)) return;
  check_wait_in_capture(device, stream);
  note_synchronization();
  trace_gpu([&](const auto& python, c10::DeviceType type) {
    python->trace_gpu_stream_synchronization(type, static_cast<std::uintptr_t>(stream));
  });
}

// The device that the call runs on.
c10::DeviceIndex DeterminismAndSync::device_of(const IValue* arguments) const {
  c10::DeviceIndex device = -1;
  for (const std::uint16_t i : semantics_->tensor_inputs) {
    observer::each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      if (device < 0 && is_virtual(tensor.device())) device = tensor.device().index();
    });
  }
  return device < 0 ? current_device() : device;
}

void DeterminismAndSync::check_captured(const IValue* arguments, c10::DeviceIndex device,
                                        std::int64_t stream) const {
  if (capture_of(device, stream)) check_pinned(arguments);
  if (semantics_->row.waits != Waits::kCopy || !on_device(arguments[0]) || !on_device(arguments[1]))
    return;
  // The streams of a copy between two devices wait for each other (copy_device_to_device there).
  const c10::DeviceIndex target = arguments[0].toTensor().device().index();
  const c10::DeviceIndex source = arguments[1].toTensor().device().index();
  if (target == source) return;
  join_capture(capture_of(target, current_stream(target)), source, current_stream(source));
  join_capture(capture_of(source, current_stream(source)), target, current_stream(target));
}

// A graph that is captured copies from and to host memory only if it is pinned. Indices on the host
// are copied as other tensors are.
void DeterminismAndSync::check_pinned(const IValue* arguments) const {
  if (!kCapturesCopyPinnedOnly) return;
  const auto check_host = [](const at::Tensor& host) {
    TORCH_CHECK(is_virtual(host.device()) || host.numel() == 0 || is_pinned(host.const_data_ptr()),
                "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU "
                "tensor is pinned. Please use tensor.pin_memory() or allocate the tensor with "
                "pin_memory=True.");
  };
  if (semantics_->has(observer::kReadsByCopy) && semantics_->reads_values(arguments)) {
    check_host(at::empty({1}));
  } else if (semantics_->row.waits == Waits::kCopy) {
    if (on_device(arguments[0]) == on_device(arguments[1])) return;
    check_host(arguments[0].toTensor());
    check_host(arguments[1].toTensor());
  } else if (semantics_->has(observer::kHostIndices)) {
    observer::each_tensor(arguments[1], check_host);
  }
}

bool DeterminismAndSync::is_deterministic(const IValue* arguments) const {
  constexpr std::int64_t kNone = 0;  // a value of `reduction`
  constexpr std::int64_t kMax = 2;   // a mode of embedding bags
  const int decides = semantics_->decides_determinism;
  const IValue told = decides >= 0 ? arguments[decides] : IValue();
  switch (semantics_->row.deterministic) {
    case Deterministic::kAlways:
      return true;
    case Deterministic::kNever:
      return false;
    case Deterministic::kForIntegers:
      return !floats(told.isInt() ? told.toScalarType() : arguments[0].toTensor().scalar_type());
    case Deterministic::kWithoutReduction:
      return told.toInt() == kNone;
    case Deterministic::kWithoutWeights:
      return !on_device(told);
    case Deterministic::kUnlessModeIsMax:
      return told.toInt() != kMax;
    case Deterministic::kUnlessProduct:
      return told.toStringView() != "prod" && told.toStringView() != "multiply";
  }
  return false;
}

bool DeterminismAndSync::waits(const IValue* arguments) const {
  if (semantics_->row.waits == Waits::kCopy) {
    const bool crosses = on_device(arguments[0]) != on_device(arguments[1]);
    return semantics_->is_blocking(arguments) && crosses && arguments[0].toTensor().numel() > 0;
  }
  if (semantics_->reads_values(arguments)) return true;
  if (!semantics_->has(observer::kHostIndices)) return false;
  bool on_host = false;
  observer::each_tensor(arguments[1],
                        [&](const at::Tensor& index) { on_host |= !is_virtual(index.device()); });
  return on_host;
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("set_sync_debug_mode(int mode) -> ()", &set_sync_debug_mode);
  library.def("sync_debug_mode() -> int", &sync_debug_mode);
}

}  // namespace torchport::vdev
