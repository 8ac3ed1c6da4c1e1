#include "runtime/device/host_pool.h"

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "devices/profile.h"

namespace torchport {
namespace {

using device::HostPool;
using devices::kMiB;

TEST_CASE("a freed block is given again, to what fits it closely") {
  HostPool pool;
  void* first = pool.allocate(8 * kMiB);
  std::memset(first, 1, 8 * kMiB);
  CHECK(pool.free(first));
  CHECK(pool.allocate(8 * kMiB - 5000) == first);
  CHECK(pool.free(first));
  void* small = pool.allocate(2 * kMiB);
  CHECK(small != first);
  CHECK(pool.free(small));
  CHECK(pool.allocate(8 * kMiB) == first);
  CHECK(pool.free(first));
}

TEST_CASE("no more is held than was ever used at one time") {
  HostPool pool;
  std::minstd_rand random(7);
  std::vector<void*> used;
  for (int i = 0; i < 20'000; ++i) {
    if (used.empty() || random() % 2 == 0) {
      used.push_back(pool.allocate(1 + random() % (4 * kMiB)));
      REQUIRE(used.back() != nullptr);
      *static_cast<char*>(used.back()) = 1;
    } else {
      std::swap(used[random() % used.size()], used.back());
      REQUIRE(pool.free(used.back()));
      used.pop_back();
    }
    const HostPool::Stats stats = pool.stats();
    REQUIRE(stats.used + stats.kept <= stats.peak_used);
  }
  for (void* block : used) CHECK(pool.free(block));
  CHECK(pool.stats().used == 0);
  CHECK(pool.stats().kept > 0);
  pool.release();
  CHECK(pool.stats().kept == 0);
}

TEST_CASE("what a pool did not give it does not take") {
  HostPool pool;
  int other = 0;
  CHECK_FALSE(pool.free(&other));
  CHECK_FALSE(pool.free(nullptr));
  void* block = pool.allocate(kMiB);
  CHECK(pool.free(block));
  CHECK_FALSE(pool.free(block));
}

TEST_CASE("more than there can be is no block") {
  HostPool pool;
  CHECK(pool.allocate(SIZE_MAX) == nullptr);
  CHECK(pool.allocate(SIZE_MAX / 2) == nullptr);
  CHECK(pool.stats().used == 0);
  CHECK(pool.stats().peak_used == 0);
}

TEST_CASE("threads have blocks of their own") {
  HostPool pool;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      std::minstd_rand random(t + 1);
      std::vector<std::pair<unsigned char*, std::size_t>> blocks;
      for (int i = 0; i < 300; ++i) {
        const std::size_t bytes = kMiB + random() % kMiB;
        auto* block = static_cast<unsigned char*>(pool.allocate(bytes));
        std::memset(block, static_cast<int>(t), bytes);
        blocks.emplace_back(block, bytes);
        if (blocks.size() < 4) continue;
        const auto [oldest, size] = blocks.front();
        CHECK(oldest[0] == t);
        CHECK(oldest[size - 1] == t);
        CHECK(pool.free(oldest));
        blocks.erase(blocks.begin());
      }
      for (const auto& [block, bytes] : blocks) CHECK(pool.free(block));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(pool.stats().used == 0);
}

// Neighbouring mappings become one in the kernel, and fork() is refused a copy of one that is
// larger than the machine's memory, however little of it was ever touched.
TEST_CASE("a process that once asked for more than the machine's memory can fork") {
  const auto machine = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  HostPool pool;
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) {
    void* block = pool.allocate(machine / 4);
    REQUIRE(block != nullptr);
    *static_cast<char*>(block) = 1;
    blocks.push_back(block);
  }
  const auto fork_works = [] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
  };
  CHECK(fork_works());
  for (void* block : blocks) CHECK(pool.free(block));
  CHECK(fork_works());  // with what the pool keeps
}

}  // namespace
}  // namespace torchport
