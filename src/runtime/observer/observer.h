// Owns the dispatch key TESTING_ONLY_GenericMode, and shows each call of an operator to listeners.
//
// A boxed fallback under that key sees every operator as the program wrote it (aten::linear, not
// aten::addmm), in the forward and the backward pass, before autograd and before composites are
// decomposed. The dispatcher takes one fallback per key. So the reports and traces of `torchport
// run` and the observations of `torchport verify` once excluded each other. Here one fallback
// serves all of them: it looks up a call's semantics once and shows the call to each listener of
// the calling thread.
//
// It is a shared library of its own because it has two users: libtorchport_virtual.so, which is
// loaded before `import torch` and must work without libtorchport.so, and libtorchport.so, which
// C++ programs use without virtual devices. Both link this one by $ORIGIN, and the dynamic linker
// loads it once. A static library in both would make two owners of the key.
//
// Rejected alternatives: at::addGlobalCallback (RecordFunction) also sees calls below autograd,
// cannot run code around a call, and has no results of an operator that writes in place. A Python
// TorchDispatchMode comes after autograd and costs tens of times more.
//
// Cost: a thread without a listener has the key switched off and pays nothing. The key is switched
// off again at the first call after the thread's last listener has stopped.
//
// Which calls a listener sees:
// - It sees the calls of the threads that joined it: the one that started it, and those that call
//   join_this_thread().
// - Autograd's own threads inherit the key and join nothing. Their calls belong to the listeners of
//   the thread that ran the forward pass of the current node or, if that thread joined no listener,
//   to all started listeners.
// - It does not see an operator's own calls (the parts of a composite, the operators of a Python
//   kernel, what a listener calls), nor operators of the namespaces torchport and profiler.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/util/ArrayRef.h>

#include "runtime/observer/api.h"
#include "runtime/observer/operator_semantics.h"

namespace torchport::observer {

class Listener;
using Listeners = std::vector<std::shared_ptr<Listener>>;
// Immutable, so that a call keeps the listeners that it began with.
using SharedListeners = std::shared_ptr<const Listeners>;

// One call of an operator on its way through the listeners. It lives on the calling thread's stack;
// a listener must not keep a reference to it.
class TORCHPORT_OBSERVER_API Call {
 public:
  Call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack& stack,
       const Listeners& listeners)
      : op_(op), keys_(keys), stack_(stack), semantics_(semantics_of(op)), listeners_(listeners) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] const c10::OperatorHandle& op() const { return op_; }
  [[nodiscard]] c10::DispatchKeySet keys() const { return keys_; }
  [[nodiscard]] const OperatorSemantics& semantics() const { return semantics_; }
  // The arguments in the order of the schema. Valid before proceed().
  [[nodiscard]] const c10::IValue* arguments() const {
    return stack_.data() + stack_.size() - semantics_.arguments;
  }
  // The results. Valid after proceed().
  [[nodiscard]] c10::ArrayRef<c10::IValue> results() const {
    return c10::ArrayRef<c10::IValue>(stack_.data() + stack_.size() - semantics_.results,
                                      semantics_.results);
  }

  // Calls the next listener or, after the last one, the operator. Raises what these raise.
  void proceed();

 private:
  const c10::OperatorHandle& op_;
  const c10::DispatchKeySet keys_;
  torch::jit::Stack& stack_;
  const OperatorSemantics& semantics_;
  const Listeners& listeners_;
  std::size_t next_ = 0;
};

// Receives calls. It is held by shared_ptr, because a call on another thread may be inside it when
// it stops: it lives as long as any thread that joined it and any call that it sees.
class TORCHPORT_OBSERVER_API Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener();

  // Called for each call. REQUIRED to call call.proceed() exactly once, and to let its errors
  // through. Operators that it calls itself are shown to no listener. May run on several threads at
  // once.
  virtual void observe(Call& call) = 0;
  // Called in a child process after fork(), on its only thread. REQUIRED not to take a lock that
  // observe() takes: a thread that does not exist in the child may hold it. The default is that the
  // listener stops in the child.
  virtual void after_fork_in_child() noexcept { stop(); }

  // Ends it: it sees no call that begins afterwards. A call that has begun may still be inside it.
  void stop() { active_.store(false, std::memory_order_release); }
  [[nodiscard]] bool active() const { return active_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> active_{true};
};

// Starts a listener and joins the calling thread to it. Throws std::runtime_error if something else
// owns the dispatch key. Thread safe, as are all functions below.
TORCHPORT_OBSERVER_API void start(std::shared_ptr<Listener> listener);

// The listeners that the calling thread joined, to be handed to a thread that it is about to start.
[[nodiscard]] TORCHPORT_OBSERVER_API SharedListeners joined_by_this_thread();
// Joins the calling thread to those of `listeners` that are active and that it has not joined.
TORCHPORT_OBSERVER_API void join_this_thread(const Listeners& listeners);
TORCHPORT_OBSERVER_API void leave_this_thread(const Listener& listener);
// Whether `listener` sees the calls of this thread now.
[[nodiscard]] TORCHPORT_OBSERVER_API bool hears_this_thread(const Listener& listener);

}  // namespace torchport::observer
