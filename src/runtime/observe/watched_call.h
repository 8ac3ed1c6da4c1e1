// One call of an operator, from before it to after it: what an observation does beside the call.
#pragma once

#include <vector>

#include "runtime/observe/log.h"
#include "runtime/observe/session.h"
#include "runtime/observer/observer.h"

namespace torchport::observe {

// The tensors that a call was given.
struct Inputs {
  SeenTensors all;
  bool mixed = false;

  void add(const at::Tensor& tensor);
};

class WatchedCall {
 public:
  // Before the call. `scope`: the calling thread's.
  WatchedCall(Session& session, const observer::Call& call, std::uint32_t scope);

  // After it: either of them.
  void done(const observer::Call& call);
  void failed(const char* message);

 private:
  void classify(c10::ArrayRef<Seen> outputs);
  void look_closer();
  void check_finite(const observer::Call& call, std::uint64_t number);
  void keep_sizes(Log& log, std::uint64_t number) const;

  Session& session_;
  const observer::OperatorSemantics& semantics_;
  Inputs inputs_;
  Call call_;
  bool reads_ = false;
  bool blocking_ = true;
  std::vector<KeptArgument> arguments_;
};

}  // namespace torchport::observe
