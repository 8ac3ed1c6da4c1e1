// Shows on standard error what a running inference does: a line of progress and, with `watch`, a
// line per device. It has a thread of its own, so that a slow batch does not stop the display and
// the display does not slow down a batch.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <c10/core/Device.h>

#include "host/usage/usage_line.h"
#include "runtime/infer/pipeline.h"

namespace torchport::infer {

class Monitor {
 public:
  // Shows until it is destroyed: four times a second in place on a terminal, otherwise one line
  // every two seconds. `progress` must outlive it.
  Monitor(const Progress& progress, std::optional<std::int64_t> total_rows,
          const std::vector<c10::Device>& devices, bool watch);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

 private:
  struct Watched {
    std::string name;
    std::unique_ptr<host::UsageSource> source;
  };

  void show();
  void draw();
  [[nodiscard]] std::string progress_line();

  const Progress& progress_;
  std::optional<std::int64_t> total_rows_;
  std::vector<Watched> watched_;
  host::Drawing drawing_;
  std::int64_t last_rows_ = 0;
  double last_seconds_ = 0;
  bool done_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace torchport::infer
