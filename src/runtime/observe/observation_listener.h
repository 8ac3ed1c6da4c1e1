// Implements one observation: the listener that fills its log.
//
// Any thread that joined the observation may add to the log, under the listener's own lock, and the
// log is taken out once. At that moment threads may still be within a call: they find that the
// listener has stopped, and add nothing.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include <torchport/observe.h>

#include "runtime/observe/log.h"
#include "runtime/observer/observer.h"

namespace torchport::observe {

class ObservationListener final : public observer::Listener {
 public:
  explicit ObservationListener(ObserveOptions options);

  void observe(observer::Call& call) override;

  // Attributes what the calling thread does to `module`, until leave(). Returns false if this
  // listener does not hear the thread.
  bool enter(std::uint32_t module);
  // Returns false if there is nothing to leave: no module was entered on this thread.
  bool leave();

  [[nodiscard]] const ObserveOptions& options() const { return options_; }
  // The program's place, as the caller numbers it. Do not call it under the lock: it may wait for
  // Python's global interpreter lock.
  [[nodiscard]] std::uint32_t place() const { return options_.place ? options_.place() : 0; }

  // Calls `use(log)` under the lock. After the listener has stopped it does not, and the second
  // form returns `otherwise`.
  template <typename Use>
  void with_log(const Use& use) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (active()) use(log_);
  }
  template <typename Use, typename Result>
  Result with_log(const Use& use, Result otherwise) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return active() ? use(log_) : otherwise;
  }
  // Stops the listener and takes its log. Call it once.
  [[nodiscard]] Log take_log();

 private:
  [[nodiscard]] std::uint32_t current_scope() const;

  const ObserveOptions options_;
  const std::uint64_t number_;  // unique in the process, unlike an address
  std::mutex mutex_;
  Log log_;
};

}  // namespace torchport::observe
