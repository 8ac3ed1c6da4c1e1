// What `torchport run --report` counts: operators, copies between devices, and reads that the host
// waits for, each by its source line.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/observer/observer.h"

namespace torchport::vdev {

class Report final : public observer::Listener {
 public:
  void observe(observer::Call& call) override;
  // A child counts for itself: its report is one of its own. The lock of the counts may be held by
  // a thread that it does not have, so it begins with others.
  void after_fork_in_child() noexcept override;

  // The counts so far: {"operators": {name: count}, "transfers": [{"kind", "count", "bytes",
  // "line"}]}, lines by their numbers (source_lines.h). Thread-safe.
  [[nodiscard]] std::string json() const;

 private:
  enum class Transfer : std::uint8_t { kToDevice, kToHost, kBetween, kRead };
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  struct Counts {
    std::map<std::string, std::uint64_t> operators;
    std::map<std::pair<Transfer, std::int64_t>, Sum> transfers;
    std::mutex mutex;
  };
  struct Places;

  void transferred(Transfer kind, std::uint64_t bytes);
  void count_transfer(const observer::Call& call, const Places& before, bool reads);

  Counts* counts_ = new Counts();  // never unmade: threads may count until the process ends
};

}  // namespace torchport::vdev
