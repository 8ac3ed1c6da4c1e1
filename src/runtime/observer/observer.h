// The one owner of the dispatch key TESTING_ONLY_GenericMode, and those that listen to it.
//
// A boxed fallback under that key sees every operator as the program wrote it (aten::linear, not
// aten::addmm), in the forward and the backward pass, before autograd and before composites are
// taken apart. The dispatcher takes one fallback a key, so reports and traces of `torchport run`
// and the observations of `torchport verify` once excluded each other. Here one fallback serves
// all: it looks a call up once and shows it to each listener of the calling thread.
//
// Why a shared library of its own: its users are libtorchport_virtual.so, which is loaded before
// `import torch` and must work without libtorchport.so, and libtorchport.so, which C++ programs use
// without virtual devices. Both link this one by $ORIGIN, and the dynamic linker loads one file of
// this name, whoever comes first. A static library in both would make two owners of the key.
// Rejected, too: at::addGlobalCallback (RecordFunction), which sees a call below autograd as well,
// cannot run code around it and gives no results where an operator writes in place; a Python
// TorchDispatchMode, which comes after autograd and costs tens of times more.
//
// Costs: a thread without a listener has the key switched off and pays nothing. The key is switched
// off again on the first call after the last listener of a thread has stopped.
//
// What a thread shows:
// - A listener hears the threads that joined it: the one that started it, and those that call
//   join_this_thread().
// - Autograd's own threads have the key by inheritance, and join nothing: their calls belong to the
//   listeners of the thread that ran the forward pass of the node at work; where no such thread
//   joined any listener, to all that are started.
// - An operator's own calls (the parts of a composite, a Python kernel's operators, what a listener
//   calls) are not shown. Neither are operators of the namespaces torchport and profiler.
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
// Immutable, so that a call holds on to those that it began with.
using SharedListeners = std::shared_ptr<const Listeners>;

// One call of an operator on its way through the listeners. Lives on the calling thread's stack.
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
  // Before proceed(), in the order of the schema.
  [[nodiscard]] const c10::IValue* arguments() const {
    return stack_.data() + stack_.size() - semantics_.arguments;
  }
  // After proceed().
  [[nodiscard]] c10::ArrayRef<c10::IValue> results() const {
    return c10::ArrayRef<c10::IValue>(stack_.data() + stack_.size() - semantics_.results,
                                      semantics_.results);
  }

  // Goes on to the next listener, and after the last one to the operator. Raises what that raises.
  void proceed();

 private:
  const c10::OperatorHandle& op_;
  const c10::DispatchKeySet keys_;
  torch::jit::Stack& stack_;
  const OperatorSemantics& semantics_;
  const Listeners& listeners_;
  std::size_t next_ = 0;
};

// Who is shown calls. Held by shared_ptr: a call on another thread may be within it when it stops,
// so it lives as long as any thread that joined it or any call that it is shown.
class TORCHPORT_OBSERVER_API Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener();

  // REQUIRED to call call.proceed() exactly once, and to let what it raises through. What it calls
  // itself is not shown to anybody. May run on several threads at once.
  virtual void observe(Call& call) = 0;
  // In a child process, after fork(), on its only thread. REQUIRED not to take a lock that calls
  // take: a thread that the child does not have may hold it. Does not listen there unless this is
  // overridden.
  virtual void after_fork_in_child() noexcept { stop(); }

  // No call that begins afterwards is shown to it; one that has begun may still be within it.
  void stop() { active_.store(false, std::memory_order_release); }
  [[nodiscard]] bool active() const { return active_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> active_{true};
};

// Shows calls to `listener` from now on, those of the calling thread first of all. Throws
// std::runtime_error where something else has the dispatch key. Thread-safe, as all below.
TORCHPORT_OBSERVER_API void start(std::shared_ptr<Listener> listener);

// The listeners that the calling thread joined; for a thread that it is about to start.
[[nodiscard]] TORCHPORT_OBSERVER_API SharedListeners joined_by_this_thread();
// The calling thread joins those of `listeners` that are active and that it has not joined.
TORCHPORT_OBSERVER_API void join_this_thread(const Listeners& listeners);
TORCHPORT_OBSERVER_API void leave_this_thread(const Listener& listener);
// Whether calls of this thread are shown to `listener`, at this moment.
[[nodiscard]] TORCHPORT_OBSERVER_API bool hears_this_thread(const Listener& listener);

}  // namespace torchport::observer
