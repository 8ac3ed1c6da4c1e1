#include "cuda/random/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "base/threads.h"

namespace torchport::cuda_random {

void in_parallel(std::size_t count, std::size_t least,
                 const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t parts = std::max<std::size_t>(
      1, std::min(base::count_of_threads(), count / std::max<std::size_t>(1, least)));
  std::vector<std::thread> threads;
  threads.reserve(parts);
  for (std::size_t i = 1; i < parts; ++i)
    threads.emplace_back(
        [&work, i, parts, count] { work(count * i / parts, count * (i + 1) / parts); });
  work(0, count / parts);
  for (std::thread& one : threads) one.join();
}

}  // namespace torchport::cuda_random
