#include "runtime/infer/monitor.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "runtime/infer/usage.h"

namespace torchport::infer {

namespace {

constexpr std::chrono::milliseconds kTerminalStep{250};
constexpr std::chrono::milliseconds kLogStep{2000};
}  // namespace

Monitor::Monitor(const Progress& progress, std::optional<std::int64_t> total_rows,
                 const std::vector<c10::Device>& devices, bool watch)
    : progress_(progress), total_rows_(total_rows), drawing_(stderr) {
  if (watch) {
    std::vector<c10::Device> seen;  // two workers may share a device
    for (const c10::Device device : devices) {
      if (std::find(seen.begin(), seen.end(), device) != seen.end()) continue;
      seen.push_back(device);
      watched_.push_back({device.str(), usage_of(device)});
      // The first look() has no earlier one to compare with.
      static_cast<void>(watched_.back().source->look());
    }
  }
  thread_ = std::thread([this] { show(); });
}

Monitor::~Monitor() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (drawing_.replaces() || !watched_.empty()) draw();
}

void Monitor::show() {
  std::unique_lock lock(mutex_);
  const auto step = drawing_.replaces() ? kTerminalStep : kLogStep;
  while (!wake_.wait_for(lock, step, [this] { return done_; })) draw();
}

std::string Monitor::progress_line() {
  const std::int64_t rows = progress_.rows;
  const double seconds = progress_.seconds();
  const double mean = seconds > 0 ? static_cast<double>(rows) / seconds : 0;
  const double passed = seconds - last_seconds_;
  const double now = passed > 0 ? static_cast<double>(rows - last_rows_) / passed : 0;
  last_rows_ = rows;
  last_seconds_ = seconds;
  std::string text =
      total_rows_ ? fmt::format("{} of {} rows", rows, *total_rows_) : fmt::format("{} rows", rows);
  const std::int64_t batches = progress_.batches;
  text += fmt::format(", {} batch{}, {:.1f} s, {:.1f} rows/s now, {:.1f} on average", batches,
                      batches == 1 ? "" : "es", seconds, now, mean);
  if (total_rows_ && mean > 0 && rows < *total_rows_)
    text += fmt::format(", {:.0f} s to go", static_cast<double>(*total_rows_ - rows) / mean);
  return text;
}

void Monitor::draw() {
  std::vector<std::string> lines;
  for (const Watched& watched : watched_)
    lines.push_back(host::usage_line(watched.name, watched.source->look()));
  lines.push_back(progress_line());
  drawing_.draw(lines);
}

}  // namespace torchport::infer
