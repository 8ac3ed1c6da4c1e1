#include "runtime/observe/watched_call.h"

#include <string_view>

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>

#include "runtime/observe/finite.h"
#include "runtime/observer/tensors_in.h"

namespace torchport::observe {

namespace {

using c10::IValue;
using observer::each_tensor;
using observer::OperatorSemantics;

template <typename Visit>
void each_result(const observer::Call& call, const Visit& visit) {
  if (!call.semantics().returns_tensors) return;
  for (const IValue& result : call.results()) each_tensor(result, visit);
}

// A number among the program's operands becomes a tensor that no call made and nobody keeps.
bool is_number(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

std::vector<KeptArgument> keep_arguments(const observer::Call& call) {
  std::vector<KeptArgument> kept;
  for (const std::uint16_t i : call.semantics().tensor_inputs) {
    const std::string& name = call.op().schema().arguments()[i].name();
    const bool list = call.arguments()[i].isList();
    std::size_t at = 0;
    each_tensor(call.arguments()[i], [&](const at::Tensor& tensor) {
      const std::size_t index = at++;
      if (!is_number(tensor))
        kept.push_back({list ? fmt::format("{}[{}]", name, index) : name, tensor});
    });
  }
  return kept;
}

// The device where a transfer begins, if the call is a transfer: its results are on another device
// than its inputs.
std::optional<c10::Device> moved_from(const OperatorSemantics& semantics, const Inputs& inputs,
                                      c10::ArrayRef<Seen> outputs) {
  if (inputs.all.empty() || outputs.empty() || semantics.has(observer::kMakes)) return std::nullopt;
  const c10::Device to = outputs.front().device;
  if (semantics.has(observer::kHostIndices)) {
    for (const Seen& seen : inputs.all) {
      // Its indices are copied to the device at each call.
      if (seen.device != to) return seen.device;
    }
    return std::nullopt;
  }
  if (!inputs.mixed) {
    const c10::Device from = inputs.all.front().device;
    return from == to ? std::nullopt : std::optional(from);
  }
  if (semantics.copies_into_first) return inputs.all[1].device;
  return std::nullopt;
}

// Whether the inputs are on several devices, not counting numbers on the host, which are allowed
// among tensors of a device.
bool mixes_more_than_numbers(const Inputs& inputs) {
  std::optional<c10::Device> common;
  for (const Seen& seen : inputs.all) {
    if (seen.device.is_cpu() && seen.dimensions == 0) continue;
    if (common && *common != seen.device) return true;
    common = seen.device;
  }
  return false;
}

// Whether an error is about devices, given that the tensors are on several. Convolutions talk of
// types: "Input type (CPUFloatType) and weight type (CUDAFloatType) should be the same". An error
// that Python raised may have no text here; it then counts as one.
bool is_about_devices(std::string_view message) {
  return message.find("device") != std::string_view::npos ||
         message.find(" type (") != std::string_view::npos || message.empty();
}

}  // namespace

void Inputs::add(const at::Tensor& tensor) {
  if (is_number(tensor)) return;
  all.push_back(look_at(tensor));
  mixed |= all.back().device != all.front().device;
}

WatchedCall::WatchedCall(ObservationListener& listener, const observer::Call& call,
                         std::uint32_t scope)
    : listener_(listener), semantics_(call.semantics()) {
  const IValue* arguments = call.arguments();
  for (const std::uint16_t i : semantics_.tensor_inputs)
    each_tensor(arguments[i], [&](const at::Tensor& tensor) { inputs_.add(tensor); });
  call_.semantics = &semantics_;
  call_.scope = scope;
  call_.grad = c10::GradMode::is_enabled();
  call_.autocast = call.keys().has_any(c10::autocast_dispatch_keyset);
  call_.sequence = at::sequence_number::peek();
  if (!inputs_.all.empty()) call_.from = inputs_.all.front().device;
  reads_ = semantics_.reads_values(arguments);
  blocking_ = semantics_.is_blocking(arguments);
  if (inputs_.mixed || listener_.options().check_finite) arguments_ = keep_arguments(call);
}

void WatchedCall::failed(const char* message) {
  if (!inputs_.mixed || !mixes_more_than_numbers(inputs_) || !is_about_devices(message)) return;
  look_closer();
  listener_.with_log([&](Log& log) {
    ++log.mixed_count;
    if (log.mixed) return;
    const std::uint64_t number = log.keep(call_, inputs_.all, {});
    log.mixed = KeptCall{number, std::move(arguments_), message};
    keep_sizes(log, number);
  });
}

void WatchedCall::done(const observer::Call& call) {
  SeenTensors outputs;
  each_result(call, [&](const at::Tensor& tensor) { outputs.push_back(look_at(tensor)); });
  classify(outputs);
  if (outputs.empty() && call_.kind == CallKind::kComputed) {
    listener_.with_log([](Log& log) { ++log.operators; });
    return;
  }
  if (call_.kind != CallKind::kComputed || listener_.options().every_place) look_closer();
  std::optional<std::uint64_t> number;
  listener_.with_log([&](Log& log) { number = log.add(call_, inputs_.all, outputs); });
  if (listener_.options().check_finite && number) check_finite(call, *number);
}

void WatchedCall::classify(c10::ArrayRef<Seen> outputs) {
  if (const auto from = moved_from(semantics_, inputs_, outputs)) {
    call_.kind = CallKind::kMoved;
    call_.from = *from;
    call_.waits = outputs.front().device.is_cpu() || blocking_;
  } else if (reads_) {
    call_.kind = CallKind::kRead;
    call_.waits = !call_.from.is_cpu();
  } else if (!outputs.empty() && (inputs_.all.empty() || semantics_.has(observer::kMakes))) {
    call_.kind = CallKind::kMade;
    call_.from = outputs.front().device;
  }
}

// Collects what is expensive and only needed for a call that will be reported.
void WatchedCall::look_closer() {
  call_.place = listener_.place();
  if (const auto node = torch::autograd::get_current_node()) {
    call_.backward = true;
    call_.sequence = node->sequence_nr();
  }
}

// Keeps the sizes of the inputs of a call that will be reported in full. The inputs are alive,
// because `arguments_` holds them.
void WatchedCall::keep_sizes(Log& log, std::uint64_t number) const {
  for (std::size_t i = 0; i < inputs_.all.size(); ++i) {
    Seen& seen = log.tensors[log.calls[number].first + i];
    log.add_sizes(*seen.tensor, seen);
  }
}

void WatchedCall::check_finite(const observer::Call& call, std::uint64_t number) {
  if (semantics_.has(observer::kUninitialised) || semantics_.returns_views) return;
  each_result(call, [&](const at::Tensor& tensor) {
    const Finite found = look_for_not_finite(tensor);
    if (!found.nan && (!found.infinite || semantics_.has(observer::kFills))) return;
    const bool known = listener_.with_log(
        [&](Log& log) { return (found.nan ? log.nan : log.infinity).has_value(); }, true);
    if (known || !all_finite(arguments_)) return;
    const std::uint32_t place = listener_.place();
    listener_.with_log([&](Log& log) {
      auto& kept = found.nan ? log.nan : log.infinity;
      if (kept) return;
      log.calls[number].place = place;
      keep_sizes(log, number);
      kept = KeptCall{number, arguments_, {}};
    });
  });
}

}  // namespace torchport::observe
