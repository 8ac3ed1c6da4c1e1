// One observation: the listener that fills its log.
//
// The log is filled under a lock of the session's own, by whichever threads it hears, and taken out
// once. Threads may be within a call when that happens: they find the session stopped, and add
// nothing more.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include <torchport/observe.h>

#include "runtime/observe/log.h"
#include "runtime/observer/observer.h"

namespace torchport::observe {

class Session final : public observer::Listener {
 public:
  explicit Session(ObserveOptions options);

  void observe(observer::Call& call) override;

  // What the calling thread does from now on is done by `module`, until leave(). False where this
  // session does not hear the thread.
  bool enter(std::uint32_t module);
  // False where there is nothing to leave: the module was not entered, or on another thread.
  bool leave();

  [[nodiscard]] const ObserveOptions& options() const { return options_; }
  // The program's place, as the caller numbers it. Not under the lock: it may wait for Python's.
  [[nodiscard]] std::uint32_t place() const { return options_.place ? options_.place() : 0; }

  // Calls `use(log)` under the lock; once the session has stopped it does not, and gives
  // `otherwise`.
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
  // Ends the session and takes its log.
  [[nodiscard]] Log take_log();

 private:
  [[nodiscard]] std::uint32_t current_scope() const;

  const ObserveOptions options_;
  const std::uint64_t number_;  // unique in the process, unlike an address
  std::mutex mutex_;
  Log log_;
};

}  // namespace torchport::observe
