// What a real device says about a call beyond its result: that it has no deterministic algorithm
// (torch.use_deterministic_algorithms), that the host waits for it
// (torch.cuda.set_sync_debug_mode).
//
// Which operators these are stands in the table of operator semantics; here is when a call of one
// is told of. Asked in the kernel and not by a listener of the observer: a real device speaks where
// its kernel runs, below composites, and whether anybody observes or not.
#pragma once

#include <cstdint>

#include <ATen/core/ivalue.h>

#include "runtime/observer/operator_semantics.h"

namespace torchport::vdev {

// 0: off, 1: warn, 2: error, as torch.cuda numbers them.
void set_sync_debug_mode(std::int64_t mode);
[[nodiscard]] std::int64_t sync_debug_mode();
// The host waits for the device here: warns or raises where that was asked for. Thread-safe.
void note_synchronization();

// Of one operator; const after it is made.
class DeterminismAndSync {
 public:
  // `semantics` outlives it: semantics_of() gives such.
  explicit DeterminismAndSync(const observer::OperatorSemantics& semantics);

  // Raises, or warns, as a real device does before it runs this call.
  void operator()(const c10::IValue* arguments) const {
    if (semantics_ != nullptr) check(arguments);
  }

 private:
  void check(const c10::IValue* arguments) const;
  [[nodiscard]] bool is_deterministic(const c10::IValue* arguments) const;
  [[nodiscard]] bool waits(const c10::IValue* arguments) const;

  const observer::OperatorSemantics* semantics_ = nullptr;  // null: there is nothing to say
};

}  // namespace torchport::vdev
