// Runs batches through one worker per device, and delivers the results in the order of the data.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <torchport/session.h>

#include "runtime/infer/feed.h"
#include "runtime/infer/tensor_file.h"

namespace torchport::infer {

// What has been done so far. Workers write it and the monitor reads it, without a lock.
struct Progress {
  std::atomic<std::int64_t> rows{0};
  std::atomic<std::int64_t> batches{0};
  std::size_t before = 0;  // the batches that an earlier run has done: the feed begins behind them
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  }
};

// Receives a batch's outputs, on the CPU. It is called in the order of the batches, one at a time,
// on any thread.
using Sink = std::function<void(std::vector<at::Tensor> outputs)>;

// Computes one call, from inputs on the CPU, in the contract's order, to outputs on the CPU. A
// worker has one call at a time, always on the same thread.
struct Worker {
  std::string name;  // its device, for errors
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)> run;
};

// The worker that runs a session on its device. The session outlives it.
[[nodiscard]] Worker worker_of(Session& session);

// Runs all batches of the feed. Each worker has a thread, which takes the next batch when it is
// ready. So a slow device delays only itself, which a fixed division of the batches would not
// achieve. After an error of a worker all threads stop, and the first error is thrown, with its
// batch. Returns early, without an error, once `stop` is set.
void run_all(Feed& feed, const std::vector<Worker>& workers, const Sink& sink, Progress& progress,
             const std::atomic<bool>& stop);

}  // namespace torchport::infer
