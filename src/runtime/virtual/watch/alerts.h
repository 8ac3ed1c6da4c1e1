// What a real device says about a call beyond its result: that it has no deterministic algorithm
// (torch.use_deterministic_algorithms), that the host waits for it
// (torch.cuda.set_sync_debug_mode).
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

namespace torchport::vdev {

// 0: off, 1: warn, 2: error, as torch.cuda numbers them.
void set_sync_debug_mode(std::int64_t mode);
[[nodiscard]] std::int64_t sync_debug_mode();
// The host waits for the device here: warns or raises where that was asked for. Thread-safe.
void note_synchronization();

// Of one operator; const after it is made.
class Alerts {
 public:
  explicit Alerts(const c10::FunctionSchema& schema);

  // Raises, or warns, as a real device does before it runs this call.
  void operator()(const c10::IValue* arguments) const {
    if (caller_.empty() && waits_ == Waits::kNever) return;
    check(arguments);
  }

 private:
  // When the host waits for a call's result.
  enum class Waits : std::uint8_t { kNever, kAlways, kCopy, kIndex, kSizes };
  // When there is no deterministic algorithm.
  enum class Unless : std::uint8_t { kNothing, kInteger, kNoReduction, kNoWeights, kNotMax };

  void check(const c10::IValue* arguments) const;
  [[nodiscard]] bool deterministic(const c10::IValue* arguments) const;
  [[nodiscard]] bool waits(const c10::IValue* arguments) const;

  std::string caller_;  // as the real kernel names itself; empty for a deterministic one
  Unless unless_ = Unless::kNothing;
  Waits waits_ = Waits::kNever;
  int argument_ = -1;  // that this depends on
};

}  // namespace torchport::vdev
