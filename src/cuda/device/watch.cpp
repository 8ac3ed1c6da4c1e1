#include "cuda/device/watch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>

#include "cuda/device/checker.h"
#include "cuda/device/error_codes.h"
#include "cuda/device/faults.h"

namespace torchport::cuda {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kLongLaunch = 200ms;  // from then on ctrl-C is ours
constexpr auto kVeryLong = 10s;
constexpr auto kLook = 50ms;
constexpr auto kAgain = 5ms;  // while threads are to leave
constexpr auto kRest = 1s;    // after the last launch the thread sleeps

std::atomic<bool> interrupt = false;

void on_interrupt(int /*signal*/) {
  interrupt = true;
}

double seconds_limit() {
  const char* text = std::getenv(kSecondsVariable);
  return text == nullptr ? 0 : std::strtod(text, nullptr);
}

class Watch {
 public:
  void begin(Launch& launch) {
    const std::scoped_lock lock(mutex_);
    running_.push_back({&launch, Clock::now(), Clock::now(), 0});
    if (!started_) {
      started_ = true;
      start();
    }
    if (sleeps_) wake_.notify_one();
  }

  void end(Launch& launch) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(running_, [&](const Entry& one) { return one.launch == &launch; });
    last_ = Clock::now();
    if (running_.empty() && has_handler_) restore();
  }

  void restore_handler() {
    const std::scoped_lock lock(mutex_);
    if (has_handler_) restore();
  }

 private:
  struct Entry {
    Launch* launch;
    Clock::time_point begin;
    Clock::time_point progress;  // when a block was done, or a thread was started
    std::size_t done;            // blocks
  };

  // No signal of the process is for this thread.
  void start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { loop(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (running_.empty() && Clock::now() - last_ > kRest) {
        sleeps_ = true;
        wake_.wait(lock, [&] { return !running_.empty(); });
        sleeps_ = false;
      }
      const bool leaves = look();
      lock.unlock();
      std::this_thread::sleep_for(leaves ? Clock::duration(kAgain) : Clock::duration(kLook));
      lock.lock();
    }
  }

  // Whether threads are on their way out.
  bool look() {
    const auto now = Clock::now();
    bool leaves = false;
    for (Entry& one : running_) {
      help(one, now);
      const auto age = now - one.begin;
      if (age > kLongLaunch && !has_handler_) take_interrupts();
      if (limit_ > 0 && age > std::chrono::duration<double>(limit_) && !one.launch->failed)
        one.launch->fail(kLaunchTimeout,
                         fmt::format("runs longer than {}={:g} seconds", kSecondsVariable, limit_));
      if (interrupt && has_handler_ && !one.launch->failed) {
        one.launch->interrupted = true;
        one.launch->fail(0, "abandoned, because the program was interrupted");
      }
      if (!one.launch->failed) continue;
      leaves = true;
      signal_threads_of(*one.launch, leave_signal());
    }
    return leaves;
  }

  // A block may wait for one that has not begun.
  static void help(Entry& one, Clock::time_point now) {
    const std::scoped_lock lock(one.launch->mutex);
    Progress* progress = one.launch->progress;
    if (progress == nullptr) return;
    const std::size_t done = progress->blocks_done();
    // What is checked is slow, and runs in one order if it can.
    const auto patience =
        checker() == nullptr ? Clock::duration(kLongLaunch) : Clock::duration(kVeryLong);
    if (done == one.done) {
      if (now - one.progress < patience) return;
      progress->start_another();
    }
    one.done = done;
    one.progress = now;
  }

  void take_interrupts() {
    struct sigaction now {};
    sigaction(SIGINT, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN) return;
    interrupt = false;
    struct sigaction action {};
    action.sa_handler = &on_interrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &before_);
    has_handler_ = true;
  }

  void restore() {
    sigaction(SIGINT, &before_, nullptr);
    has_handler_ = false;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> running_;
  Clock::time_point last_{};
  bool started_ = false;
  bool sleeps_ = false;
  bool has_handler_ = false;
  struct sigaction before_ {};
  double limit_ = seconds_limit();
};

// A process that was forked has no such thread: it makes its own.
std::atomic<Watch*> the_watch = nullptr;

Watch& watch() {
  Watch* found = the_watch.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  static std::mutex mutex;
  static const int kForgotten = pthread_atfork(nullptr, nullptr, [] { the_watch = nullptr; });
  (void)kForgotten;
  const std::scoped_lock lock(mutex);
  if (the_watch == nullptr) the_watch = new Watch();
  return *the_watch;
}

}  // namespace

Watched::Watched(Launch& launch) : launch_(launch) {
  watch().begin(launch);
}

Watched::~Watched() {
  watch().end(launch_);
}

void pass_interrupt_on() {
  watch().restore_handler();
  std::raise(SIGINT);
}

}  // namespace torchport::cuda
