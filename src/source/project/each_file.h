// The worker loop of check and fix: each file once, on several threads.
//
// A template over the result, so that a thread writes into its own slot and nothing is locked; a
// queue of tasks was not worth its locks, since files are known beforehand and are many.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "source/project/check.h"

namespace torchport::project {

// What `work(path)` gives for each file, in their order; nothing for those that were not reached
// because options.cancelled was set. Where it throws, `failed(error)` gives the result: running out
// of memory in one file must not cost the others. Both are called by several threads at once.
template <class Result, class Work, class Failed>
std::vector<std::optional<Result>> each_file(const std::vector<std::string>& files,
                                             const CheckOptions& options, const Work& work,
                                             const Failed& failed) {
  std::vector<std::optional<Result>> results(files.size());
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  const auto loop = [&] {
    while (options.cancelled == nullptr || !options.cancelled->load()) {
      const std::size_t i = next.fetch_add(1);
      if (i >= files.size()) return;
      try {
        results[i] = work(files[i]);
      } catch (const std::exception& error) {
        results[i] = failed(base::Error{base::ErrorCode::kInternal,
                                        fmt::format("skipped: {}", error.what()), files[i], 0});
      }
      const std::size_t finished = done.fetch_add(1) + 1;
      if (options.progress) options.progress(finished);
    }
  };
  std::vector<std::thread> threads;
  const std::size_t extra = std::min<std::size_t>(std::max(options.threads, 1U) - 1, files.size());
  for (std::size_t i = 0; i < extra; ++i) threads.emplace_back(loop);
  loop();
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace torchport::project
