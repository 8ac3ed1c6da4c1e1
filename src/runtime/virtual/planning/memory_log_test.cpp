#include "runtime/virtual/planning/memory_log.h"

#include <algorithm>
#include <map>
#include <random>

#include <doctest/doctest.h>

namespace torchport::vdev {

namespace {

constexpr std::size_t kMany = 1'000'000;

std::uint64_t sum_of(const std::vector<HeldBlock>& blocks, Holds holds) {
  std::uint64_t sum = 0;
  for (const HeldBlock& block : blocks)
    if (block.holds == holds) sum += block.bytes;
  return sum;
}

HeldBlock block_of(std::uint64_t bytes, Holds holds = Holds::kInputs) {
  return {bytes, 1, 0, holds};
}

// The same program of random events, in a log of so many events.
MemoryLog::Told random_program(std::size_t most_events, std::size_t most_moments) {
  MemoryLog log(most_events, most_moments);
  std::mt19937 random(7);
  std::map<std::uint64_t, bool> live;
  std::uint64_t held = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t address = 1 + random() % 64;
    if (live[address]) {
      log.given_back(address);
    } else {
      const std::uint64_t bytes = 1 + random() % 5000;
      held = std::max(held, bytes);
      log.taken(address, block_of(bytes), 1000 * (1 + random() % 100));
      log.mark(address, bytes % 2 == 0 ? Holds::kGradients : Holds::kInputs);
    }
    live[address] = !live[address];
    if (i == 11'111) log.ran_out();
  }
  return log.told();
}

}  // namespace

TEST_CASE("who held memory when most was held, by the names of later") {
  MemoryLog log;
  log.taken(1, block_of(100), 1000);
  log.taken(2, block_of(50, Holds::kBackward), 1000);
  log.given_back(2);
  log.taken(3, block_of(20), 2000);
  log.mark(1, Holds::kParameters);
  log.mark(2, Holds::kGradients);  // it is not there any more
  log.mark(9, Holds::kGradients);
  const MemoryLog::Told told = log.told();
  CHECK(told.most.allocated == 150);
  CHECK(told.most.event == 2);
  CHECK(told.at_most.size() == 2);
  CHECK(sum_of(told.at_most, Holds::kParameters) == 100);
  CHECK(sum_of(told.at_most, Holds::kBackward) == 50);
  CHECK(told.most_reserved == 2000);
  CHECK(told.events == 4);
  CHECK_FALSE(told.ran_out_at);
  REQUIRE(told.timeline.size() == 4);
  CHECK(told.timeline[0].held[static_cast<std::size_t>(Holds::kParameters)] == 100);
  CHECK(told.timeline[3].allocated == 120);
}

TEST_CASE("a log that plays its older half tells the same") {
  const MemoryLog::Told whole = random_program(kMany, 2 * kMany);
  REQUIRE(whole.timeline.size() == 20'000);
  for (const std::size_t most_events : {1UL, 2UL, 7UL, 1000UL}) {
    const MemoryLog::Told told = random_program(most_events, 2 * kMany);
    CHECK(told.events == whole.events);
    CHECK(told.most.event == whole.most.event);
    CHECK(told.most.held == whole.most.held);
    CHECK(told.at_most.size() == whole.at_most.size());
    CHECK(told.ran_out_at == whole.ran_out_at);
    CHECK(sum_of(told.at_ran_out, Holds::kGradients) ==
          sum_of(whole.at_ran_out, Holds::kGradients));
    CHECK(std::equal(told.timeline.begin(), told.timeline.end(), whole.timeline.begin(),
                     [](const auto& a, const auto& b) { return a.allocated == b.allocated; }));
  }
}

TEST_CASE("a block whose event was played can be named") {
  MemoryLog log(2, 10);
  log.taken(1, block_of(100), 0);
  for (std::uint64_t address = 2; address < 6; ++address) log.taken(address, block_of(1), 0);
  log.mark(1, Holds::kParameters);
  CHECK(log.holds(1) == Holds::kParameters);
  CHECK_FALSE(log.holds(7));
  const MemoryLog::Told told = log.told();
  CHECK(sum_of(told.at_most, Holds::kParameters) == 100);
  CHECK(told.timeline.back().held[static_cast<std::size_t>(Holds::kParameters)] == 100);
  log.given_back(1);
  CHECK(log.told().timeline.back().allocated == 4);
}

TEST_CASE("a short timeline keeps the largest sums") {
  const MemoryLog::Told whole = random_program(kMany, 2 * kMany);
  const MemoryLog::Told told = random_program(kMany, 64);
  CHECK(told.timeline.size() >= 32);
  CHECK(told.timeline.size() <= 64);
  const auto less = [](const auto& a, const auto& b) { return a.allocated < b.allocated; };
  const auto most = *std::max_element(told.timeline.begin(), told.timeline.end(), less);
  CHECK(most.event == whole.most.event);
  CHECK(most.held == whole.most.held);
  const auto fewer = [](const auto& a, const auto& b) { return a.reserved < b.reserved; };
  CHECK(std::max_element(told.timeline.begin(), told.timeline.end(), fewer)->reserved == 100'000);
  CHECK(std::is_sorted(told.timeline.begin(), told.timeline.end(),
                       [](const auto& a, const auto& b) { return a.event < b.event; }));
}

TEST_CASE("nothing, and what cannot be") {
  MemoryLog log;
  log.given_back(5);
  log.taken(5, block_of(0), 0);
  log.ran_out();
  const MemoryLog::Told told = log.told();
  CHECK(told.events == 0);
  CHECK(told.timeline.empty());
  CHECK(told.at_most.empty());
  CHECK(told.ran_out_at == 0);
  // An address that was never given back is a new block.
  log.taken(1, block_of(10), 0);
  log.taken(1, block_of(20), 0);
  CHECK(log.told().most.allocated == 20);
}

}  // namespace torchport::vdev
