// A grid of blocks, and the threads of the host that run it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>

#include "torchport/kernel.h"

namespace torchport::cuda {

// All blocks of a cooperative launch meet here. Each runs on its own thread of the host.
class GridBarrier {
 public:
  explicit GridBarrier(std::size_t blocks) : blocks_(blocks) {}
  // False: the kernel failed elsewhere.
  bool wait();
  // A block has ended: the others do not wait for it.
  void leave();
  void give_up();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t blocks_;
  std::size_t arrived_ = 0;
  std::size_t round_ = 0;
  bool given_up_ = false;
};

struct Sizes {
  ::dim3 grid;
  ::dim3 block;
  std::size_t shared = 0;  // bytes of dynamic shared memory
  CUstream_st* stream = nullptr;
  bool cooperative = false;
};

// What may be asked while blocks run.
class Progress {
 public:
  [[nodiscard]] virtual std::size_t blocks_done() const = 0;
  // Starts another thread that runs blocks, if some have not begun.
  virtual void start_another() = 0;

 protected:
  ~Progress() = default;
};

struct Launch {
  Kernel kernel{};
  const void* body = nullptr;
  Sizes sizes;
  GridBarrier* barrier = nullptr;
  // The first error: a cudaError_t, and what is to be said of it.
  std::atomic<bool> failed = false;
  std::mutex mutex{};
  std::atomic<int> error = 0;
  std::string text{};
  bool interrupted = false;  // by ctrl-C
  // `mutex` guards it; none: all blocks have begun, or begin together.
  Progress* progress = nullptr;

  // Ends the launch. 0: without an error.
  void fail(int code, const std::string& why);
  // The launch goes on, but has the error in the end.
  void note(int code);
};

// The place with a number: that of a block in its grid, of a thread in its block.
template <class Number>
::uint3 place_in(Number number, const ::dim3& size) {
  if (number < size.x) return {static_cast<unsigned>(number), 0, 0};  // without divisions
  return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
          static_cast<unsigned>(number / size.x / size.y)};
}

// Runs a launch to its end; its error is in it. Thread safe: launches of several threads of the
// host share the workers.
void run_blocks(Launch& launch);

// How many threads of the host run blocks: OMP_NUM_THREADS, or the processors of this process.
std::size_t count_of_workers();

}  // namespace torchport::cuda
