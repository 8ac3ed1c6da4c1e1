#include "runtime/observe/observation_listener.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include "runtime/observe/watched_call.h"

namespace torchport::observe {

namespace {

std::atomic<std::uint64_t> next_number{1};

struct Entered {
  std::uint64_t listener = 0;
  std::uint32_t scope = 0;
};
// The modules that this thread has entered, of all observations, in the order of entering.
thread_local std::vector<Entered> entered;

auto innermost_of(std::uint64_t listener) {
  return std::find_if(entered.rbegin(), entered.rend(),
                      [&](const Entered& one) { return one.listener == listener; });
}

}  // namespace

ObservationListener::ObservationListener(ObserveOptions options)
    : options_(std::move(options)), number_(next_number++) {
  log_.max_calls = options_.max_calls;
  log_.max_intermediates = options_.max_intermediates;
}

void ObservationListener::observe(observer::Call& call) {
  WatchedCall watched(*this, call, current_scope());
  try {
    call.proceed();
  } catch (const std::exception& error) {
    watched.failed(error.what());
    throw;
  }
  watched.done(call);
}

std::uint32_t ObservationListener::current_scope() const {
  const auto found = innermost_of(number_);
  return found == entered.rend() ? 0 : found->scope;
}

bool ObservationListener::enter(std::uint32_t module) {
  if (!observer::hears_this_thread(*this)) return false;
  const std::uint32_t here = place();
  const auto scope = with_log(
      [&](Log& log) {
        log.scopes.push_back({module, here});
        return static_cast<std::uint32_t>(log.scopes.size() - 1);
      },
      std::uint32_t{0});
  entered.push_back({number_, scope});
  return true;
}

bool ObservationListener::leave() {
  const auto found = innermost_of(number_);
  if (found == entered.rend()) return false;
  entered.erase(std::next(found).base());
  return true;
}

Log ObservationListener::take_log() {
  stop();
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(log_, Log());
}

}  // namespace torchport::observe
