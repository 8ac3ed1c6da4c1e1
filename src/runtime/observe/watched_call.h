// One call of an operator, from before it to after it: what the fallback does beside the call.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>
#include <torchport/observe.h>

#include "runtime/observe/log.h"
#include "runtime/observe/operator_facts.h"

namespace torchport::observe {

// Of the process. Threads that were attached may outlive an observation, so neither it nor
// anybody's options are ever unmade. What is wanted is read without the lock, and again with it.
struct State {
  std::atomic<const ObserveOptions*> wanted{nullptr};  // none: nobody watches
  std::mutex mutex;
  Log log;
  std::deque<ObserveOptions> options;
};
[[nodiscard]] State& state();

[[nodiscard]] std::uint32_t place_now(const ObserveOptions& options);

// The tensors that a call was given.
struct Inputs {
  SeenTensors all;
  bool mixed = false;

  void add(const at::Tensor& tensor);
};

class WatchedCall {
 public:
  // Before the call, with its arguments on the stack. `scope`: the calling thread's.
  WatchedCall(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
              const torch::jit::Stack& stack, const ObserveOptions& options, std::uint32_t scope);

  // After it: either of them.
  void done(const torch::jit::Stack& stack);
  void failed(const char* message);

 private:
  void classify(c10::ArrayRef<Seen> outputs);
  void look_closer();
  void check_finite(const torch::jit::Stack& stack, std::uint64_t number);
  void keep_sizes(Log& log, std::uint64_t number) const;

  const ObserveOptions& options_;
  const OperatorFacts& facts_;
  Inputs inputs_;
  Call call_;
  bool reads_ = false;
  bool blocking_ = true;
  std::vector<KeptArgument> arguments_;
};

}  // namespace torchport::observe
