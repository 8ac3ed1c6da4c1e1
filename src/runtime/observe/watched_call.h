// Records one call of an operator for an observation, from before the call until after it. It lives
// on the calling thread's stack; the log is locked only at its end.
#pragma once

#include <vector>

#include "runtime/observe/log.h"
#include "runtime/observe/observation_listener.h"
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
  // Looks at the inputs, before the call. `scope` is the calling thread's.
  WatchedCall(ObservationListener& listener, const observer::Call& call, std::uint32_t scope);

  // Call one of these after the call.
  void done(const observer::Call& call);
  void failed(const char* message);

 private:
  void classify(c10::ArrayRef<Seen> outputs);
  void look_closer();
  void check_finite(const observer::Call& call, std::uint64_t number);
  void keep_sizes(Log& log, std::uint64_t number) const;

  ObservationListener& listener_;
  const observer::OperatorSemantics& semantics_;
  Inputs inputs_;
  RecordedCall call_;
  bool reads_ = false;
  bool blocking_ = true;
  std::vector<KeptArgument> arguments_;
};

}  // namespace torchport::observe
