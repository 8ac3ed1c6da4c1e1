#include "base/threads.h"

#include <algorithm>
#include <cstdlib>

#include <sched.h>

namespace torchport::base {

std::size_t count_of_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const long given = std::strtol(text, nullptr, 10);
    if (given > 0) return static_cast<std::size_t>(std::min(given, 256L));
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    return static_cast<std::size_t>(CPU_COUNT(&set));
  return 1;
}

}  // namespace torchport::base
