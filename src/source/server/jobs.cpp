#include "source/server/jobs.h"

#include <algorithm>

namespace torchport::server {

void Jobs::stop_running(const std::string& key) {
  if (running_ && !key.empty() && running_key_ == key) running_stop_->store(true);
}

void Jobs::add(Job job) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  waiting_.push_back(std::move(job));
  changed_.notify_all();
}

void Jobs::replace(Job job) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  stop_running(job.key);
  const auto same = std::find_if(waiting_.begin(), waiting_.end(),
                                 [&](const Job& other) { return other.key == job.key; });
  if (same != waiting_.end())
    *same = std::move(job);
  else
    waiting_.push_back(std::move(job));
  changed_.notify_all();
}

void Jobs::cancel(const std::string& key) {
  Job dropped;
  {
    const std::lock_guard lock(mutex_);
    stop_running(key);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const Job& job) { return job.key == key; });
    if (found == waiting_.end()) return;
    dropped = std::move(*found);
    waiting_.erase(found);
    changed_.notify_all();
  }
  if (dropped.cancelled) dropped.cancelled();
}

void Jobs::set_idle(const std::string& name, Step step) {
  const std::lock_guard lock(mutex_);
  if (step)
    idle_[name] = std::make_shared<const Step>(std::move(step));
  else
    idle_.erase(name);
  changed_.notify_all();
}

void Jobs::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty() || !idle_.empty(); });
    if (closed_) return;
    if (waiting_.empty()) {
      const auto [name, step] = *idle_.begin();
      lock.unlock();
      const bool more = (*step)();
      lock.lock();
      const auto same = idle_.find(name);
      if (!more && same != idle_.end() && same->second == step) idle_.erase(same);
      continue;
    }
    const Job job = std::move(waiting_.front());
    waiting_.pop_front();
    running_key_ = job.key;
    running_ = true;
    const auto stop = std::make_shared<Job::Stop>(false);
    running_stop_ = stop;
    lock.unlock();
    job.work(*stop);
    lock.lock();
    running_ = false;
    changed_.notify_all();
  }
}

void Jobs::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  waiting_.clear();
  if (running_) running_stop_->store(true);
  changed_.notify_all();
}

void Jobs::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || (waiting_.empty() && !running_); });
}

}  // namespace torchport::server
