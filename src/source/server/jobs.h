// Holds what the worker has to do: the reader adds jobs, the worker takes them in their order.
//
// A check of a document that changes again is dropped: while it waits it is replaced, and while it
// runs it is told to stop. A request is cancelled in the same two ways.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace torchport::server {

struct Job {
  using Stop = std::atomic<bool>;

  // What cancel() and outdate() name it by: "request:7", "check:file:///a.py". Empty: by nothing.
  std::string key;
  std::function<void(const Stop& stop)> work;
  std::function<void()> cancelled;  // called instead of `work`, on the thread that cancels
};

// Thread safe.
class Jobs {
 public:
  void add(Job job);
  // Adds a job in place of a waiting one with its key, and stops a running one with it.
  void replace(Job job);
  // Drops a waiting job and calls its `cancelled`, or stops the running one.
  void cancel(const std::string& key);
  // What the worker does when nothing else waits: `step` is called until it returns false. It takes
  // the place of the one with its name; an empty one removes it. The first name goes first.
  using Step = std::function<bool()>;
  void set_idle(const std::string& name, Step step);
  // Runs jobs until close() is called. What waits then is dropped, and what runs is stopped.
  void run();
  void close();
  // Waits until no job waits or runs; for tests. Idle steps do not count.
  void drain();

 private:
  void stop_running(const std::string& key);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::map<std::string, std::shared_ptr<const Step>> idle_;
  std::string running_key_;
  bool running_ = false;
  std::shared_ptr<Job::Stop> running_stop_;
  bool closed_ = false;
};

}  // namespace torchport::server
