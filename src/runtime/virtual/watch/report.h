// Counts what `torchport run --report` shows: operators, copies between devices, and reads that the
// host waits for, each by its source line.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/observer/observer.h"

namespace torchport::vdev {

class RunReport final : public observer::Listener {
 public:
  void observe(observer::Call& call) override;
  // A child process counts for itself and has a report of its own. A thread that does not exist in
  // the child may hold the lock of the counts, so the child starts with new ones.
  void after_fork_in_child() noexcept override;

  // The counts so far: {"operators": {name: count}, "transfers": [{"kind", "count", "bytes",
  // "line"}]}. Lines are numbers of source_lines.h. Thread safe.
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

  Counts* counts_ = new Counts();  // never destroyed: threads may count until the process ends
};

}  // namespace torchport::vdev
