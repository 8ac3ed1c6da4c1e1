#include "runtime/observer/observer.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <pthread.h>
#include <torch/csrc/autograd/function.h>
#include <torch/library.h>

#include "runtime/observer/fork_lock.h"

namespace torchport::observer {

namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using torch::jit::Stack;

constexpr DispatchKey kMode = DispatchKey::TESTING_ONLY_GenericMode;

// Which listeners each thread joined. The key is the thread number that autograd stores in its
// nodes. Threads that have ended stay in it, because a backward pass may come later. Everything in
// it is guarded by the lock.
struct Registry {
  std::unordered_map<std::uint64_t, SharedListeners> of_thread;
  Listeners started;
};

Registry& registry() {
  static auto* registry = new Registry();
  return *registry;
}

// The listeners that a thread joined. This pointer outlives the thread's destructors, its owner
// does not: operators that run after the owner's destruction are not shown.
thread_local SharedListeners* joined = nullptr;

struct Owner {
  Owner() { joined = &listeners; }
  ~Owner() {
    c10::impl::tls_set_dispatch_key_included(kMode, false);
    joined = nullptr;
  }
  SharedListeners listeners;
};

bool none_active(const Listeners& listeners) {
  return std::none_of(listeners.begin(), listeners.end(),
                      [](const auto& listener) { return listener->active(); });
}

bool contains(const Listeners& listeners, const Listener& wanted) {
  return std::any_of(listeners.begin(), listeners.end(),
                     [&](const auto& listener) { return listener.get() == &wanted; });
}

void set_joined(Listeners listeners) {
  thread_local Owner owner;
  const bool any = !listeners.empty();
  // This may destroy a listener, whose destructor must not run under the lock.
  const SharedListeners before = owner.listeners;
  owner.listeners = any ? std::make_shared<const Listeners>(std::move(listeners)) : nullptr;
  {
    const std::lock_guard<std::mutex> lock(fork_lock());
    if (any) {
      registry().of_thread[at::RecordFunction::currentThreadId()] = owner.listeners;
    } else {
      registry().of_thread.erase(at::RecordFunction::currentThreadId());
    }
  }
  c10::impl::tls_set_dispatch_key_included(kMode, any);
}

// The listeners for a thread of autograd: those of the forward pass of its current node.
SharedListeners of_forward_pass() {
  const auto node = torch::autograd::get_current_node();
  const std::lock_guard<std::mutex> lock(fork_lock());
  if (node != nullptr) {
    const auto found = registry().of_thread.find(node->thread_id());
    if (found != registry().of_thread.end()) return found->second;
  }
  return std::make_shared<const Listeners>(registry().started);
}

SharedListeners of_this_call() {
  return joined != nullptr && *joined != nullptr ? *joined : of_forward_pass();
}

// Leaves listeners that have stopped, so that a thread without active listeners has no more cost.
void leave_those_that_stopped() {
  if (joined == nullptr || *joined == nullptr) return;
  Listeners left;
  for (const auto& listener : **joined) {
    if (listener->active()) left.push_back(listener);
  }
  if (left.size() < (*joined)->size()) set_joined(std::move(left));
}

void show(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(kMode);
  const SharedListeners listeners = of_this_call();
  if (none_active(*listeners)) leave_those_that_stopped();
  Call(op, keys, *stack, *listeners).proceed();
}

// Registered at the first use and never removed: a thread may be inside it at any time.
void take_the_key() {
  static const bool kTaken = [] {
    if (c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(kMode))
      throw std::runtime_error(
          "torchport: another library handles the dispatch key TESTING_ONLY_GenericMode in this "
          "process, so operators cannot be observed; do not load that library here");
    static auto* library = new torch::Library(torch::Library::IMPL, "_", kMode, __FILE__, __LINE__);
    library->fallback(torch::CppFunction::makeFromBoxedFunction<&show>());
    pthread_atfork([] { fork_lock().lock(); }, [] { fork_lock().unlock(); },
                   [] {
                     for (const auto& listener : registry().started)
                       listener->after_fork_in_child();
                     fork_lock().unlock();
                   });
    return true;
  }();
  static_cast<void>(kTaken);
}

}  // namespace

std::mutex& fork_lock() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

Listener::~Listener() = default;

void Call::proceed() {
  while (!semantics_.own && next_ < listeners_.size()) {
    Listener& listener = *listeners_[next_++];
    if (listener.active()) return listener.observe(*this);
  }
  op_.redispatchBoxed(keys_ & DispatchKeySet(DispatchKeySet::FULL_AFTER, kMode), &stack_);
}

void start(std::shared_ptr<Listener> listener) {
  take_the_key();
  // Releases listeners that have stopped, after the lock is released.
  std::vector<SharedListeners> old;
  {
    const std::lock_guard<std::mutex> lock(fork_lock());
    Registry& all = registry();
    old.push_back(std::make_shared<const Listeners>(all.started));
    std::erase_if(all.started, [](const auto& other) { return !other->active(); });
    std::erase_if(all.of_thread, [&](const auto& thread) {
      if (!none_active(*thread.second)) return false;
      old.push_back(thread.second);
      return true;
    });
    all.started.push_back(listener);
  }
  join_this_thread({std::move(listener)});
}

SharedListeners joined_by_this_thread() {
  static const auto kNone = std::make_shared<const Listeners>();
  return joined != nullptr && *joined != nullptr ? *joined : kNone;
}

void join_this_thread(const Listeners& listeners) {
  Listeners all;
  for (const auto& listener : *joined_by_this_thread()) {
    if (listener->active()) all.push_back(listener);
  }
  for (const auto& listener : listeners) {
    if (listener->active() && !contains(all, *listener)) all.push_back(listener);
  }
  set_joined(std::move(all));
}

void leave_this_thread(const Listener& listener) {
  Listeners left = *joined_by_this_thread();
  std::erase_if(left, [&](const auto& other) { return other.get() == &listener; });
  if (left.size() < joined_by_this_thread()->size()) set_joined(std::move(left));
}

bool hears_this_thread(const Listener& listener) {
  return listener.active() && c10::impl::tls_is_dispatch_key_included(kMode) &&
         contains(*of_this_call(), listener);
}

}  // namespace torchport::observer
