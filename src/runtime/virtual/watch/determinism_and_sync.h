// Says what a real device says about a call beyond its result: that it has no deterministic
// algorithm (torch.use_deterministic_algorithms), or that the host waits for it
// (torch.cuda.set_sync_debug_mode).
//
// The table of operator semantics says which operators these are; this file decides when a call is
// reported. The kernel asks it. A listener of the observer was rejected, because a real device
// reports where its kernel runs: below composites, and whether or not anybody observes.
#pragma once

#include <cstdint>

#include <ATen/core/ivalue.h>

#include "runtime/observer/operator_semantics.h"

namespace torchport::vdev {

// The mode as torch.cuda numbers it: 0 off, 1 warn, 2 error.
void set_sync_debug_mode(std::int64_t mode);
[[nodiscard]] std::int64_t sync_debug_mode();
// Says that the host waits for the device here: warns or raises if the mode asks for that. Thread
// safe.
void note_synchronization();

// The answers for one operator. Constant after its construction.
class DeterminismAndSync {
 public:
  // `semantics` must outlive this object; those of semantics_of() do.
  explicit DeterminismAndSync(const observer::OperatorSemantics& semantics);

  // Raises or warns as a real device does before it runs this call.
  void operator()(const c10::IValue* arguments) const {
    if (semantics_ != nullptr) check(arguments);
  }

  // Whether the host waits for the device in this call.
  [[nodiscard]] bool waits_for(const c10::IValue* arguments) const {
    return semantics_ != nullptr && waits(arguments);
  }

 private:
  void check(const c10::IValue* arguments) const;
  [[nodiscard]] bool is_deterministic(const c10::IValue* arguments) const;
  [[nodiscard]] bool waits(const c10::IValue* arguments) const;
  [[nodiscard]] c10::DeviceIndex device_of(const c10::IValue* arguments) const;
  void check_captured(const c10::IValue* arguments, c10::DeviceIndex device,
                      std::int64_t stream) const;
  void check_pinned(const c10::IValue* arguments) const;

  const observer::OperatorSemantics* semantics_ = nullptr;  // null: there is nothing to say
};

}  // namespace torchport::vdev
