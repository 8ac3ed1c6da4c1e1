// Runs the worker loop of check and fix: each file once, on several threads.
//
// It is a template over the result, so that a thread writes into its own slot and nothing is
// locked. A queue of tasks was rejected: all files are known beforehand, so a counter is enough.
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

// Options for work that is no progress of the run.
[[nodiscard]] inline CheckOptions without_progress(CheckOptions options) {
  options.progress = nullptr;
  return options;
}

// Returns the result of `work(i)` for each i below `count`, in their order; none for those that
// were not reached because options.cancelled was set. If `work` throws, `failed(error, i)` makes
// the result, because running out of memory in one file must not cost the others. REQUIRED: both
// functions are thread safe.
template <class Result, class Work, class Failed>
std::vector<std::optional<Result>> each_index(std::size_t count, const CheckOptions& options,
                                              const Work& work, const Failed& failed) {
  std::vector<std::optional<Result>> results(count);
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  const auto loop = [&] {
    while (options.cancelled == nullptr || !options.cancelled->load()) {
      const std::size_t i = next.fetch_add(1);
      if (i >= count) return;
      try {
        results[i] = work(i);
      } catch (const std::exception& error) {
        results[i] = failed(error, i);
      }
      const std::size_t finished = done.fetch_add(1) + 1;
      if (options.progress) options.progress(finished);
    }
  };
  std::vector<std::thread> threads;
  const std::size_t extra = std::min<std::size_t>(std::max(options.threads, 1U) - 1, count);
  threads.reserve(extra);
  for (std::size_t i = 0; i < extra; ++i) threads.emplace_back(loop);
  loop();
  for (std::thread& thread : threads) thread.join();
  return results;
}

// The same for each file, with `work(path)` and `failed(problem)`.
template <class Result, class Work, class Failed>
std::vector<std::optional<Result>> each_file(const std::vector<std::string>& files,
                                             const CheckOptions& options, const Work& work,
                                             const Failed& failed) {
  return each_index<Result>(
      files.size(), options, [&](std::size_t i) { return work(files[i]); },
      [&](const std::exception& error, std::size_t i) {
        return failed(base::Error{base::ErrorCode::kInternal,
                                  fmt::format("skipped: {}", error.what()), files[i], 0});
      });
}

}  // namespace torchport::project
