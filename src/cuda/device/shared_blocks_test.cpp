#include "cuda/device/shared_blocks.h"

#include <atomic>
#include <cstddef>
#include <numeric>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using torchport::cuda::SharedBlocks;

TEST_CASE("one runner takes all blocks in order") {
  for (const std::size_t runners : {0, 1}) {
    SharedBlocks shared(5000, runners);
    const std::size_t runner = runners == 0 ? SharedBlocks::kGuest : 0;
    CHECK(shared.has_more());
    for (std::size_t i = 0; i < 5000; ++i) {
      REQUIRE(shared.take(runner) == i);
      shared.ended(runner);
    }
    CHECK_FALSE(shared.has_more());
    CHECK_FALSE(shared.take(runner).has_value());
    CHECK(shared.count_ended() == 5000);
  }
}

TEST_CASE("each block is taken once, whoever takes it") {
  constexpr std::size_t kBlocks = 300'000;
  SharedBlocks shared(kBlocks, 3);
  std::vector<std::atomic<int>> taken(kBlocks);
  std::vector<std::thread> threads;
  for (const std::size_t runner :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, SharedBlocks::kGuest, SharedBlocks::kGuest})
    threads.emplace_back([&, runner] {
      while (const auto block = shared.take(runner)) {
        ++taken[*block];
        shared.ended(runner);
      }
    });
  for (std::thread& one : threads) one.join();
  CHECK(std::accumulate(taken.begin(), taken.end(), 0) == kBlocks);
  for (const auto& times : taken) REQUIRE(times == 1);
  CHECK(shared.count_ended() == kBlocks);
}

TEST_CASE("a block that waits for earlier ones gets them") {
  constexpr std::size_t kBlocks = 20'000;
  SharedBlocks shared(kBlocks, 2);
  std::atomic<std::size_t> done = 0;
  const auto run = [&](std::size_t runner) {
    while (const auto block = shared.take(runner)) {
      while (done != *block) std::this_thread::yield();
      ++done;
      shared.ended(runner);
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  CHECK(done == kBlocks);
}

TEST_CASE("the blocks of a runner that waits are given to others, the first one first") {
  SharedBlocks shared(100'000, 2);
  std::size_t last = 0;  // its runs get longer
  for (int i = 0; i < 50; ++i) last = *shared.take(0);
  std::size_t expected = last;
  for (std::size_t guest = 0; guest < 100; ++guest) {
    const auto block = shared.take(SharedBlocks::kGuest);
    REQUIRE(block == ++expected);
  }
  CHECK(shared.take(0) == expected + 1);
  // Who has nothing else takes them, too.
  std::size_t all = 50 + 100 + 1;
  while (shared.take(1)) ++all;
  CHECK(all == 100'000);
}
