#include "cuda/device/launch.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include <pthread.h>

#include "base/threads.h"
#include "cuda/device/block.h"
#include "cuda/device/checker.h"
#include "cuda/device/faults.h"
#include "cuda/device/shared_blocks.h"
#include "cuda/device/watch.h"

namespace torchport::cuda {

bool GridBarrier::wait() {
  std::unique_lock lock(mutex_);
  const std::size_t round = round_;
  if (++arrived_ == blocks_) {
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
  } else {
    changed_.wait(lock, [&] { return round_ != round || given_up_; });
  }
  return !given_up_;
}

void GridBarrier::leave() {
  const std::scoped_lock lock(mutex_);
  --blocks_;
  if (arrived_ != blocks_ || blocks_ == 0) return;
  arrived_ = 0;
  ++round_;
  changed_.notify_all();
}

void GridBarrier::give_up() {
  const std::scoped_lock lock(mutex_);
  given_up_ = true;
  changed_.notify_all();
}

void Launch::fail(int code, const std::string& why) {
  {
    const std::scoped_lock lock(mutex);
    if (!failed) {
      if (error == 0) error = code;
      text = why;
    }
    failed = true;
  }
  if (barrier != nullptr) barrier->give_up();
}

void Launch::note(int code) {
  int none = 0;
  error.compare_exchange_strong(none, code);
}

namespace {

std::size_t blocks_of(const Launch& launch) {
  const ::dim3& grid = launch.sizes.grid;
  return std::size_t{grid.x} * grid.y * grid.z;
}

Block& block_of_this_thread() {
  // Thread-local storage of a library that is loaded late has room for a pointer only.
  thread_local std::unique_ptr<Block> block;
  if (block == nullptr) block = std::make_unique<Block>();
  return *block;
}

// A launch that workers take blocks of. Runner 0 is the thread that launches.
struct Work {
  Work(Launch& of, std::size_t blocks, std::size_t runners) : shared(blocks, runners), launch(of) {}

  SharedBlocks shared;
  Launch& launch;
  std::atomic<std::size_t> users = 0;  // workers that work on it

  void run(std::size_t runner) {
    Block& block = block_of_this_thread();
    while (!launch.failed) {
      const auto number = shared.take(runner);
      if (!number) return;
      block.run(launch, place_in(*number, launch.sizes.grid));
      shared.ended(runner);
    }
  }
  [[nodiscard]] bool has_blocks() const { return shared.has_more() && !launch.failed; }
};

// Threads beside the workers, for blocks that wait for blocks which have not begun: on a GPU those
// run at the same time. The thread that watches launches starts them.
class FurtherThreads final : public Progress {
 public:
  explicit FurtherThreads(Work& work) : work_(work) {
    const std::scoped_lock lock(work.launch.mutex);
    work.launch.progress = this;
  }
  FurtherThreads(const FurtherThreads&) = delete;
  FurtherThreads& operator=(const FurtherThreads&) = delete;
  ~FurtherThreads() {
    {
      const std::scoped_lock lock(work_.launch.mutex);
      work_.launch.progress = nullptr;
    }
    for (std::thread& one : threads_) one.join();
  }

  [[nodiscard]] std::size_t blocks_done() const override { return work_.shared.count_ended(); }
  void start_another() override {
    constexpr std::size_t kMost = 64;
    if (threads_.size() >= kMost || !work_.has_blocks()) return;
    threads_.emplace_back([this] {
      take_signals_of_kernels();
      work_.run(SharedBlocks::kGuest);
    });
  }

 private:
  Work& work_;
  std::vector<std::thread> threads_;
};

class Workers {
 public:
  explicit Workers(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this, i] { loop(i + 1); });
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    for (std::thread& one : threads_) one.join();
  }

  void run(Work& work) {
    {
      const std::scoped_lock lock(mutex_);
      queue_.push_back(&work);
    }
    wake_.notify_all();
    work.run(0);
    std::unique_lock lock(mutex_);
    std::erase(queue_, &work);
    lock.unlock();
    // The others run their last blocks, which are often short: sleeping takes longer.
    constexpr int kTries = 100;
    for (int i = 0; i < kTries && work.users != 0; ++i) std::this_thread::yield();
    lock.lock();
    done_.wait(lock, [&] { return work.users == 0; });
  }

 private:
  void loop(std::size_t runner) {
    std::unique_lock lock(mutex_);
    while (true) {
      Work* work = nullptr;
      wake_.wait(lock, [&] {
        for (Work* one : queue_)
          if (one->has_blocks()) work = one;
        return ends_ || work != nullptr;
      });
      if (ends_) return;
      ++work->users;
      lock.unlock();
      work->run(runner);
      const bool is_last = --work->users == 0;  // from here on `work` may be gone
      lock.lock();
      if (is_last) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Work*> queue_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

// A process that was forked has no workers: it makes its own. Those of its parent are forgotten.
std::atomic<Workers*> pool = nullptr;
std::mutex pool_is_made;

Workers& workers() {
  static const int kForgotten = pthread_atfork(nullptr, nullptr, [] { pool = nullptr; });
  (void)kForgotten;
  const std::scoped_lock lock(pool_is_made);
  if (pool == nullptr) pool = new Workers(count_of_workers() - 1);  // lives as long as the process
  return *pool;
}

void run_cooperatively(Launch& launch, std::size_t blocks) {
  GridBarrier barrier(blocks);
  launch.barrier = &barrier;
  std::vector<std::thread> threads;
  threads.reserve(blocks);
  const auto run = [&](std::size_t i) {
    block_of_this_thread().run(launch, place_in(i, launch.sizes.grid));
    barrier.leave();
  };
  for (std::size_t i = 1; i < blocks; ++i) threads.emplace_back(run, i);
  run(0);
  for (std::thread& one : threads) one.join();
  launch.barrier = nullptr;
}

}  // namespace

std::size_t count_of_workers() {
  static const std::size_t kCount = base::count_of_threads();
  return kCount;
}

namespace {

void run_watched(Launch& launch) {
  const std::size_t blocks = blocks_of(launch);
  if (launch.sizes.cooperative && blocks > 1) return run_cooperatively(launch, blocks);
  // Below this, waking another thread takes longer than the work.
  constexpr std::size_t kQuickThreads = 2048;
  const ::dim3& block = launch.sizes.block;
  const bool alone = blocks == 1 || count_of_workers() == 1 || checker() != nullptr ||
                     blocks * block.x * block.y * block.z <= kQuickThreads;
  // What is checked runs in one order.
  Work work(launch, blocks, alone ? 0 : count_of_workers());
  const FurtherThreads further(work);
  if (alone)
    work.run(SharedBlocks::kGuest);
  else
    workers().run(work);
}

}  // namespace

void run_blocks(Launch& launch) {
  {
    const Watched watched(launch);
    if (Checker* watches = checker()) watches->begin(launch);
    run_watched(launch);
    if (Checker* watches = checker()) watches->end(launch);
  }
  if (launch.interrupted) pass_interrupt_on();
}

}  // namespace torchport::cuda
