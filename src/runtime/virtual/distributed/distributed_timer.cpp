// Measures how long the parts of a DistributedDataParallel step take on virtual devices.
// DistributedDataParallel's logger asks the registry for a timer of the device's type, and fails
// without one.
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include "runtime/virtual/core/build_facts.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/distributed/distributed.h"

namespace torchport::vdev {

namespace {

// Work on a virtual device is complete when its call returns, so the host's clock measures it.
class HostTimer final : public c10d::Timer {
 public:
  std::optional<std::int64_t> measureDifference(Event start, Event end) override {
    const auto first = getTimestamp(start);
    const auto last = getTimestamp(end);
    // In an unfinished iteration, the recorded end is that of the iteration before.
    if (!first || !last || *last < *first) return std::nullopt;
    return *last - *first;
  }
};

}  // namespace

void register_timer() {
  c10d::TimerRegistry()->Register(
      Runtime::get().kind().type,
      [](c10::Device) -> std::unique_ptr<c10d::Timer> { return std::make_unique<HostTimer>(); },
      kOverReal);
}

}  // namespace torchport::vdev
