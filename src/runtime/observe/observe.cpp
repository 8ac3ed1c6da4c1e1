// The boxed fallback that sees every operator, and who may switch it on.
#include <stdexcept>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <pthread.h>
#include <torch/library.h>
#include <torchport/observe.h>

#include "runtime/observe/watched_call.h"

namespace torchport {

namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using observe::Log;
using observe::state;
using observe::State;
using torch::jit::Stack;

constexpr DispatchKey kMode = DispatchKey::TESTING_ONLY_GenericMode;

thread_local std::vector<std::uint32_t> scopes_of_thread;

std::uint32_t current_scope() {
  return scopes_of_thread.empty() ? 0 : scopes_of_thread.back();
}

void watch(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(kMode);
  const DispatchKeySet rest = keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, kMode);
  const ObserveOptions* wanted = state().wanted.load(std::memory_order_acquire);
  if (wanted == nullptr) {
    op.redispatchBoxed(rest, stack);
    return;
  }
  observe::WatchedCall watched(op, keys, *stack, *wanted, current_scope());
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
          "run`; start it without --report to verify a model in it");
    static auto* library = new torch::Library(torch::Library::IMPL, "_", kMode, __FILE__, __LINE__);
    library->fallback(torch::CppFunction::makeFromBoxedFunction<&watch>());
    // The lock may be held by a thread that a forked process (a DataLoader's worker) does not have.
    pthread_atfork(nullptr, nullptr, [] { state().wanted = nullptr; });
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
    all.log.max_intermediates = options.max_intermediates;
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
  const std::uint32_t place = observe::place_now(*wanted);
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.log.scopes.push_back({module, place});
  scopes_of_thread.push_back(static_cast<std::uint32_t>(all.log.scopes.size() - 1));
}

void Observation::leave() {
  if (!scopes_of_thread.empty()) scopes_of_thread.pop_back();
}

}  // namespace torchport
