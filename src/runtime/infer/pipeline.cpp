#include "runtime/infer/pipeline.h"

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include <c10/core/InferenceMode.h>

namespace torchport::infer {

namespace {

// Shared by the workers. Each takes batches from the feed and delivers results under the lock.
// Results that are ready before their turn wait, and so does a worker that is too far ahead.
class Line {
 public:
  Line(Feed& feed, const Sink& sink, Progress& progress, const std::atomic<bool>& stop,
       std::size_t workers)
      : feed_(feed),
        sink_(sink),
        progress_(progress),
        stop_(stop),
        most_ahead_(2 * workers),
        next_(progress.before) {}

  std::optional<Batch> take() {
    const std::lock_guard lock(mutex_);
    if (error_ || stop_) return std::nullopt;
    return feed_.next();
  }

  void give(const Batch& batch, std::vector<at::Tensor> outputs) {
    std::unique_lock lock(mutex_);
    turn_.wait(lock, [&] { return error_ || batch.index < next_ + most_ahead_; });
    if (error_) return;
    waiting_.emplace(batch.index, std::move(outputs));
    progress_.rows += batch.rows;
    ++progress_.batches;
    while (!waiting_.empty() && waiting_.begin()->first == next_) {
      sink_(std::move(waiting_.begin()->second));
      waiting_.erase(waiting_.begin());
      ++next_;
    }
    turn_.notify_all();
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    turn_.notify_all();
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  Feed& feed_;
  const Sink& sink_;
  Progress& progress_;
  const std::atomic<bool>& stop_;
  const std::size_t most_ahead_;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::map<std::size_t, std::vector<at::Tensor>> waiting_;
  std::size_t next_;
  std::exception_ptr error_;
};

void work(const Worker& worker, Line& line) {
  const c10::InferenceMode no_gradients;
  while (true) {
    std::optional<Batch> batch;
    try {
      batch = line.take();
      if (!batch) return;
      line.give(*batch, worker.run(batch->inputs));
    } catch (const std::exception& error) {
      const std::string where =
          batch ? "batch " + std::to_string(batch->index) + " on " + worker.name + ": " : "";
      line.fail(std::make_exception_ptr(std::runtime_error(where + error.what())));
      return;
    }
  }
}

}  // namespace

Worker worker_of(Session& session) {
  return {session.device().str(), [&session](const std::vector<at::Tensor>& data) {
            std::vector<at::Tensor> inputs;
            inputs.reserve(data.size());
            for (const at::Tensor& input : data) {
              // Always copies: the data is a file's mapping, and a model that works in place would
              // write to it.
              inputs.push_back(session.device().is_cpu() ? input.clone(at::MemoryFormat::Contiguous)
                                                         : input.to(session.device()));
            }
            std::vector<at::Tensor> outputs = session.run(inputs);
            for (at::Tensor& output : outputs) output = output.cpu().contiguous();
            return outputs;
          }};
}

void run_all(Feed& feed, const std::vector<Worker>& workers, const Sink& sink, Progress& progress,
             const std::atomic<bool>& stop) {
  Line line(feed, sink, progress, stop, workers.size());
  std::vector<std::thread> threads;
  threads.reserve(workers.size());
  for (const Worker& worker : workers)
    threads.emplace_back([&worker, &line] { work(worker, line); });
  for (std::thread& thread : threads) thread.join();
  line.rethrow();
}

}  // namespace torchport::infer
