#include "runtime/observe/watched_call.h"

#include <string_view>

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>

#include "runtime/observe/finite.h"

namespace torchport::observe {

namespace {

using c10::IValue;
using torch::jit::Stack;

// Calls `visit` for each tensor of an argument or a result.
template <typename Visit>
void each_tensor(const IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) each_tensor(element, visit);
  }
}

template <typename Visit>
void each_result(const OperatorFacts& facts, const Stack& stack, const Visit& visit) {
  if (!facts.returns_tensors) return;
  for (std::size_t i = stack.size() - facts.results; i < stack.size(); ++i)
    each_tensor(stack[i], visit);
}

// Numbers among the program's operands become tensors that nothing made and nobody keeps.
bool is_number(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

std::vector<KeptArgument> keep_arguments(const c10::OperatorHandle& op, const OperatorFacts& facts,
                                         const IValue* arguments) {
  std::vector<KeptArgument> kept;
  for (const std::uint16_t i : facts.tensor_inputs) {
    const std::string& name = op.schema().arguments()[i].name();
    const bool list = arguments[i].isList();
    std::size_t at = 0;
    each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      const std::size_t index = at++;
      if (!is_number(tensor))
        kept.push_back({list ? fmt::format("{}[{}]", name, index) : name, tensor});
    });
  }
  return kept;
}

bool is_mask(const at::Tensor& tensor) {
  return tensor.scalar_type() == c10::kBool || tensor.scalar_type() == c10::kByte;
}

bool reads_values(const OperatorFacts& facts, const IValue* arguments) {
  using Reads = OperatorFacts::Reads;
  if (facts.reads == Reads::kNothing) return false;
  if (facts.reads == Reads::kAlways) return true;
  if (facts.reads == Reads::kUnlessSized) return arguments[facts.arguments - 1].isNone();
  bool masked = false;
  each_tensor(arguments[1], [&](const at::Tensor& index) { masked |= is_mask(index); });
  return masked;
}

// Where a transfer begins, if the call is one: results on another device than what they are made
// of.
std::optional<c10::Device> moved_from(const OperatorFacts& facts, const Inputs& inputs,
                                      c10::ArrayRef<Seen> outputs) {
  if (inputs.all.empty() || outputs.empty() || facts.makes) return std::nullopt;
  const c10::Device to = outputs.front().device;
  if (facts.takes_host_indices) {
    for (const Seen& seen : inputs.all) {
      if (seen.device != to) return seen.device;  // its indices go to the device, each time
    }
    return std::nullopt;
  }
  if (!inputs.mixed) {
    const c10::Device from = inputs.all.front().device;
    return from == to ? std::nullopt : std::optional(from);
  }
  // copy_(self, src): what is written to comes first.
  if (facts.name.starts_with("aten::copy_")) return inputs.all[1].device;
  return std::nullopt;
}

// A number on the host among tensors of a device is no trouble.
bool mixes_more_than_numbers(const Inputs& inputs) {
  std::optional<c10::Device> common;
  for (const Seen& seen : inputs.all) {
    if (seen.device.is_cpu() && seen.dimensions == 0) continue;
    if (common && *common != seen.device) return true;
    common = seen.device;
  }
  return false;
}

// Whether an error is about devices: ours to explain, where tensors are on several. Convolutions
// speak of types: "Input type (CPUFloatType) and weight type (CUDAFloatType) should be the same".
// An error that Python raised may have no text here; then the program's own decides.
bool is_about_devices(std::string_view message) {
  return message.find("device") != std::string_view::npos ||
         message.find(" type (") != std::string_view::npos || message.empty();
}

}  // namespace

State& state() {
  static auto* state = new State();
  return *state;
}

std::uint32_t place_now(const ObserveOptions& options) {
  return options.place ? options.place() : 0;
}

void Inputs::add(const at::Tensor& tensor) {
  if (is_number(tensor)) return;
  all.push_back(look_at(tensor));
  mixed |= all.back().device != all.front().device;
}

WatchedCall::WatchedCall(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                         const Stack& stack, const ObserveOptions& options, std::uint32_t scope)
    : options_(options), facts_(facts_of(op)) {
  const IValue* arguments = stack.data() + stack.size() - facts_.arguments;
  for (const std::uint16_t i : facts_.tensor_inputs)
    each_tensor(arguments[i], [&](const at::Tensor& tensor) { inputs_.add(tensor); });
  call_.facts = &facts_;
  call_.scope = scope;
  call_.grad = c10::GradMode::is_enabled();
  call_.autocast = keys.has_any(c10::autocast_dispatch_keyset);
  call_.sequence = at::sequence_number::peek();
  if (!inputs_.all.empty()) call_.from = inputs_.all.front().device;
  reads_ = reads_values(facts_, arguments);
  blocking_ = facts_.non_blocking < 0 || !arguments[facts_.non_blocking].isBool() ||
              !arguments[facts_.non_blocking].toBool();
  if (inputs_.mixed || options_.check_finite) arguments_ = keep_arguments(op, facts_, arguments);
}

void WatchedCall::failed(const char* message) {
  if (!inputs_.mixed || !mixes_more_than_numbers(inputs_) || !is_about_devices(message)) return;
  look_closer();
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.wanted != &options_) return;
  ++all.log.mixed_count;
  if (all.log.mixed) return;
  const std::uint64_t number = all.log.keep(call_, inputs_.all, {});
  all.log.mixed = KeptCall{number, std::move(arguments_), message};
  keep_sizes(all.log, number);
}

void WatchedCall::done(const Stack& stack) {
  SeenTensors outputs;
  each_result(facts_, stack, [&](const at::Tensor& tensor) { outputs.push_back(look_at(tensor)); });
  classify(outputs);
  State& all = state();
  if (outputs.empty() && call_.kind == CallKind::kComputed) {
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.wanted == &options_) ++all.log.operators;
    return;
  }
  if (call_.kind != CallKind::kComputed || options_.every_place) look_closer();
  std::optional<std::uint64_t> number;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.wanted != &options_) return;
    number = all.log.add(call_, inputs_.all, outputs);
  }
  if (options_.check_finite && number) check_finite(stack, *number);
}

void WatchedCall::classify(c10::ArrayRef<Seen> outputs) {
  if (const auto from = moved_from(facts_, inputs_, outputs)) {
    call_.kind = CallKind::kMoved;
    call_.from = *from;
    call_.waits = outputs.front().device.is_cpu() || blocking_;
  } else if (reads_) {
    call_.kind = CallKind::kRead;
    call_.waits = !call_.from.is_cpu();
  } else if (!outputs.empty() && (inputs_.all.empty() || facts_.makes)) {
    call_.kind = CallKind::kMade;
    call_.from = outputs.front().device;
  }
}

// What costs more, and is asked for where it will be told.
void WatchedCall::look_closer() {
  call_.place = place_now(options_);
  if (const auto node = torch::autograd::get_current_node()) {
    call_.backward = true;
    call_.sequence = node->sequence_nr();
  }
}

// Of the inputs of a call that will be told whole. They live: `arguments_` holds them.
void WatchedCall::keep_sizes(Log& log, std::uint64_t number) const {
  for (std::size_t i = 0; i < inputs_.all.size(); ++i) {
    Seen& seen = log.tensors[log.calls[number].first + i];
    log.add_sizes(*seen.tensor, seen);
  }
}

void WatchedCall::check_finite(const Stack& stack, std::uint64_t number) {
  if (facts_.uninitialised || facts_.returns_views) return;
  State& all = state();
  each_result(facts_, stack, [&](const at::Tensor& tensor) {
    const Finite found = look_for_not_finite(tensor);
    auto& kept = found.nan ? all.log.nan : all.log.infinity;
    if (!found.nan && (!found.infinite || facts_.fills)) return;
    if (kept || !all_finite(arguments_)) return;
    const std::uint32_t place = place_now(options_);
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.wanted != &options_) return;
    all.log.calls[number].place = place;
    keep_sizes(all.log, number);
    kept = KeptCall{number, arguments_, {}};
  });
}

}  // namespace torchport::observe
