// The processor time of the calling thread, for budgets. Other work on the machine does not use it
// up, so that what is refused does not depend on the machine's load.
#pragma once

#include <chrono>
#include <ctime>

namespace torchport::base {

// A clock as std::chrono has them. Points in time of different threads cannot be compared.
struct ThreadClock {
  // NOLINTBEGIN(readability-identifier-naming): the standard's names
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ThreadClock>;
  static constexpr bool is_steady = true;
  // NOLINTEND(readability-identifier-naming)

  static time_point now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

}  // namespace torchport::base
