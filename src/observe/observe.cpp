// The boxed fallback that sees every operator, and who may switch it on.
#include <atomic>
#include <deque>
#include <stdexcept>

#include <ATen/SequenceNumber.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/node.h>
#include <torch/library.h>
#include <torchport/observe.h>

#include "observe/finite.h"
#include "observe/log.h"

namespace torchport {

namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using observe::Call;
using observe::facts_of;
using observe::KeptCall;
using observe::Log;
using observe::look_at;
using observe::OperatorFacts;
using observe::Seen;
using observe::SeenTensors;
using torch::jit::Stack;

constexpr DispatchKey kMode = DispatchKey::TESTING_ONLY_GenericMode;

// Of the process. Threads that were attached may outlive an observation, so neither it nor
// anybody's options are ever unmade. What is wanted is read without the lock, and again with it.
struct State {
  std::atomic<const ObserveOptions*> wanted{nullptr};  // none: nobody watches
  std::mutex mutex;
  Log log;
  std::deque<ObserveOptions> options;
};

State& state() {
  static auto* state = new State();
  return *state;
}

thread_local std::vector<std::uint32_t> scopes_of_thread;

std::uint32_t current_scope() {
  return scopes_of_thread.empty() ? 0 : scopes_of_thread.back();
}

std::uint64_t number_of_thread() {
  static std::atomic<std::uint64_t> threads{0};
  thread_local const std::uint64_t number = ++threads;
  return number;
}

std::uint32_t place_now(const ObserveOptions& options) {
  return options.place ? options.place() : 0;
}

// Calls `visit` for each tensor of an argument or a result.
template <typename Visit>
void each_tensor(const IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) each_tensor(element, visit);
  }
}

// The tensors that a call was given.
struct Inputs {
  SeenTensors all;
  bool mixed = false;

  void add(const at::Tensor& tensor) {
    all.push_back(look_at(tensor));
    mixed |= all.back().device != all.front().device;
  }
};

Inputs inputs_of(const OperatorFacts& facts, const IValue* arguments) {
  Inputs inputs;
  for (const std::uint16_t i : facts.tensor_inputs)
    each_tensor(arguments[i], [&](const at::Tensor& tensor) { inputs.add(tensor); });
  return inputs;
}

std::vector<observe::KeptArgument> keep_arguments(const c10::OperatorHandle& op,
                                                  const OperatorFacts& facts,
                                                  const IValue* arguments) {
  std::vector<observe::KeptArgument> kept;
  for (const std::uint16_t i : facts.tensor_inputs) {
    const std::string& name = op.schema().arguments()[i].name();
    const bool list = arguments[i].isList();
    std::size_t at = 0;
    each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      kept.push_back({list ? fmt::format("{}[{}]", name, at++) : name, tensor});
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

// One call, from before it to after it.
class Watched {
 public:
  Watched(const c10::OperatorHandle& op, DispatchKeySet keys, const Stack& stack,
          const ObserveOptions& options)
      : options_(options), facts_(facts_of(op)) {
    const IValue* arguments = stack.data() + stack.size() - facts_.arguments;
    inputs_ = inputs_of(facts_, arguments);
    call_.facts = &facts_;
    call_.scope = current_scope();
    call_.grad = c10::GradMode::is_enabled();
    call_.autocast = keys.has_any(c10::autocast_dispatch_keyset);
    call_.sequence = at::sequence_number::peek();
    call_.thread = number_of_thread();
    if (!inputs_.all.empty()) call_.from = inputs_.all.front().device;
    reads_ = reads_values(facts_, arguments);
    blocking_ = facts_.non_blocking < 0 || !arguments[facts_.non_blocking].isBool() ||
                !arguments[facts_.non_blocking].toBool();
    if (inputs_.mixed || options_.check_finite) arguments_ = keep_arguments(op, facts_, arguments);
  }

  void failed(const char* message) {
    if (!inputs_.mixed || !mixes_more_than_numbers(inputs_)) return;
    look_closer();
    State& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.wanted != &options_) return;
    ++all.log.mixed_count;
    if (all.log.mixed) return;
    const auto number = all.log.add(call_, inputs_.all, {}, true);
    all.log.mixed = KeptCall{*number, std::move(arguments_), message};
    for (std::size_t i = 0; i < inputs_.all.size(); ++i) keep_sizes(all.log, *number, i);
  }

  void done(const Stack& stack) {
    SeenTensors outputs;
    if (facts_.returns_tensors) {
      for (std::size_t i = stack.size() - facts_.results; i < stack.size(); ++i)
        each_tensor(stack[i],
                    [&](const at::Tensor& tensor) { outputs.push_back(look_at(tensor)); });
    }
    classify(outputs);
    if (outputs.empty() && call_.kind == CallKind::kComputed) {
      State& all = state();
      const std::lock_guard<std::mutex> lock(all.mutex);
      if (all.wanted == &options_) ++all.log.operators;
      return;
    }
    if (call_.kind != CallKind::kComputed || options_.every_place) look_closer();
    State& all = state();
    std::optional<std::uint64_t> number;
    {
      const std::lock_guard<std::mutex> lock(all.mutex);
      if (all.wanted != &options_) return;
      number = all.log.add(call_, inputs_.all, outputs, false);
    }
    if (options_.check_finite && number) check_finite(stack, *number);
  }

 private:
  void classify(c10::ArrayRef<Seen> outputs) {
    if (const auto from = moved_from(facts_, inputs_, outputs)) {
      call_.kind = CallKind::kMoved;
      call_.from = *from;
      const bool to_host = outputs.front().device.is_cpu();
      call_.waits = to_host || blocking_;
    } else if (reads_) {
      call_.kind = CallKind::kRead;
      call_.waits = !call_.from.is_cpu();
    } else if (!outputs.empty() && (inputs_.all.empty() || facts_.makes)) {
      call_.kind = CallKind::kMade;
      call_.from = outputs.front().device;
    }
  }

  // What costs more, and is asked for where it will be told.
  void look_closer() {
    call_.place = place_now(options_);
    if (const auto node = torch::autograd::get_current_node()) {
      call_.backward = true;
      call_.sequence = node->sequence_nr();
    }
  }

  static void keep_sizes(Log& log, std::uint64_t number, std::size_t input) {
    Seen& seen = log.tensors[log.calls[number].first + input];
    log.add_sizes(*seen.tensor, seen);
  }

  void check_finite(const Stack& stack, std::uint64_t number) {
    State& all = state();
    if (facts_.uninitialised || facts_.returns_views) return;
    for (std::size_t i = stack.size() - facts_.results; i < stack.size(); ++i) {
      each_tensor(stack[i], [&](const at::Tensor& tensor) {
        const observe::Finite found = observe::look_for_not_finite(tensor);
        auto& kept = found.nan ? all.log.nan : all.log.infinity;
        if (!found.nan && (!found.infinite || facts_.fills)) return;
        if (kept || !observe::all_finite(arguments_)) return;
        call_.place = place_now(options_);
        const std::lock_guard<std::mutex> lock(all.mutex);
        all.log.calls[number].place = call_.place;
        for (std::size_t at = 0; at < inputs_.all.size(); ++at) keep_sizes(all.log, number, at);
        kept = KeptCall{number, arguments_, {}};
      });
    }
  }

  const ObserveOptions& options_;
  const OperatorFacts& facts_;
  Inputs inputs_;
  Call call_;
  bool reads_ = false;
  bool blocking_ = true;
  std::vector<observe::KeptArgument> arguments_;
};

void watch(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(kMode);
  const DispatchKeySet rest = keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, kMode);
  const ObserveOptions* wanted = state().wanted.load(std::memory_order_acquire);
  if (wanted == nullptr) {
    op.redispatchBoxed(rest, stack);
    return;
  }
  Watched watched(op, keys, *stack, *wanted);
  try {
    op.redispatchBoxed(rest, stack);
  } catch (const std::exception& error) {
    watched.failed(error.what());
    throw;
  }
  watched.done(*stack);
}

// Registered when it is first wanted, and then for good: a thread may be within it at any time.
void take_the_key() {
  static const bool kTaken = [] {
    if (c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(kMode))
      throw std::runtime_error(
          "torchport: the program is watched already, by the report or the trace of `torchport "
          "run`; "
          "start it without --report to verify a model in it");
    static auto* library = new torch::Library(torch::Library::IMPL, "_", kMode, __FILE__, __LINE__);
    library->fallback(torch::CppFunction::makeFromBoxedFunction<&watch>());
    return true;
  }();
  static_cast<void>(kTaken);
}

}  // namespace

std::uintptr_t tensor_number(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.unsafeGetTensorImpl());
}

std::uintptr_t storage_number(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(
      tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
}

Observation::Observation(ObserveOptions options) {
  take_the_key();
  State& all = state();
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.wanted != nullptr)
      throw std::runtime_error("torchport: another model of this process is being verified");
    all.log = Log();
    all.log.max_calls = options.max_calls;
    all.options.push_back(std::move(options));
    all.wanted = &all.options.back();
  }
  scopes_of_thread.clear();
  attach_thread();
}

Observation::~Observation() {
  if (!finished_) static_cast<void>(finish());
}

Observed Observation::finish() {
  TORCH_CHECK(!finished_, "torchport: this observation is over");
  finished_ = true;
  detach_thread();
  Log log;
  {
    State& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.wanted = nullptr;
    log = std::move(all.log);
    all.log = Log();
  }
  return observe::tell(log);
}

void Observation::attach_thread() {
  c10::impl::tls_set_dispatch_key_included(kMode, true);
}

void Observation::detach_thread() {
  c10::impl::tls_set_dispatch_key_included(kMode, false);
}

void Observation::enter(std::uint32_t module) {
  State& all = state();
  const ObserveOptions* wanted = all.wanted;
  if (wanted == nullptr) {
    scopes_of_thread.push_back(0);
    return;
  }
  const std::uint32_t place = place_now(*wanted);
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.log.scopes.push_back({module, place});
  scopes_of_thread.push_back(static_cast<std::uint32_t>(all.log.scopes.size() - 1));
}

void Observation::leave() {
  if (!scopes_of_thread.empty()) scopes_of_thread.pop_back();
}

}  // namespace torchport
