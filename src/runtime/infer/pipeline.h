// Batches through several workers at once, results in the order of the data.
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

// What has been done so far; read by whoever shows it while it goes on.
struct Progress {
  std::atomic<std::int64_t> rows{0};
  std::atomic<std::int64_t> batches{0};
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  }
};

// Takes a batch's outputs, on the CPU; called in the order of the batches, one at a time.
using Sink = std::function<void(std::vector<at::Tensor> outputs)>;

// Computes one call: inputs on the CPU, in the contract's order, to outputs on the CPU. One call at
// a time, always from the same thread.
struct Worker {
  std::string name;  // in errors: its device
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)> run;
};

// The worker that runs a session on its device. The session outlives it.
[[nodiscard]] Worker worker_of(Session& session);

// Runs all batches of the feed. A thread for each worker takes the next batch when it is ready, so
// a slow device holds up none but itself. Throws the first error of a worker, with its batch, after
// all have stopped; returns early, without an error, once `stop` is set.
void run_all(Feed& feed, const std::vector<Worker>& workers, const Sink& sink, Progress& progress,
             const std::atomic<bool>& stop);

}  // namespace torchport::infer
