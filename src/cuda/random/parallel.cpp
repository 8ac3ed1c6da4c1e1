#include "cuda/random/parallel.h"

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sched.h>

namespace torchport::cuda_random {
namespace {

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

}  // namespace

void in_parallel(std::size_t count, std::size_t least,
                 const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t parts = std::max<std::size_t>(
      1, std::min(count_of_threads(), count / std::max<std::size_t>(1, least)));
  std::vector<std::thread> threads;
  threads.reserve(parts);
  for (std::size_t i = 1; i < parts; ++i)
    threads.emplace_back(
        [&work, i, parts, count] { work(count * i / parts, count * (i + 1) / parts); });
  work(0, count / parts);
  for (std::thread& one : threads) one.join();
}

}  // namespace torchport::cuda_random
