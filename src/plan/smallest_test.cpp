#include "plan/smallest.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace torchport::plan {
namespace {

// Cards of 1 to `count` bytes.
std::vector<Card> cards_up_to(std::uint64_t count) {
  std::vector<Card> cards;
  for (std::uint64_t memory = count; memory >= 1; --memory)
    cards.push_back({std::to_string(memory), memory, 80});
  return cards;
}

TEST_CASE("the smallest card is found with few trials, and the next smaller one was tried") {
  for (std::uint64_t least = 1; least <= 90; ++least) {
    for (const std::uint64_t too_much : {0U, 1U, 7U}) {
      CAPTURE(least);
      CAPTURE(too_much);
      int trials = 0;
      std::vector<std::uint64_t> too_small;
      const auto result = find_smallest(cards_up_to(90), [&](const Card& card) {
        ++trials;
        if (card.memory < least) too_small.push_back(card.memory);
        return CardTrial{card.memory >= least ? Outcome::kFits : Outcome::kTooSmall,
                         least + too_much, least - std::min<std::uint64_t>(least, 2)};
      });
      REQUIRE(result.has_value());
      REQUIRE(result->found.has_value());
      CHECK(result->found->memory == least);
      if (least > 1) {
        REQUIRE(result->too_small.has_value());
        CHECK(result->too_small->memory == least - 1);
        CHECK(std::find(too_small.begin(), too_small.end(), least - 1) != too_small.end());
      }
      CHECK(trials <= (too_much == 0 ? 3 : 6));
    }
  }
}

TEST_CASE("a wrong guess costs trials, and no more") {
  for (std::uint64_t least = 1; least <= 60; ++least) {
    for (const std::uint64_t guess : {0U, 1U, 30U, 60U, 1000U}) {
      const auto result = find_smallest(cards_up_to(60), [&](const Card& card) {
        return CardTrial{card.memory >= least ? Outcome::kFits : Outcome::kTooSmall, guess, guess};
      });
      REQUIRE(result.has_value());
      CHECK(result->found->memory == least);
    }
  }
}

TEST_CASE("no card fits, there is no card, and the first trial fails") {
  const auto none =
      find_smallest(cards_up_to(9), [](const Card&) { return CardTrial{Outcome::kTooSmall}; });
  REQUIRE(none.has_value());
  CHECK_FALSE(none->found.has_value());
  CHECK(none->too_small->memory == 9);
  CHECK_FALSE(find_smallest({}, [](const Card&) { return CardTrial{}; })->found.has_value());
  const auto failed =
      find_smallest(cards_up_to(9), [](const Card&) { return CardTrial{Outcome::kFails}; });
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().message.find("fails on 9") != std::string::npos);
  const auto broken = find_smallest(cards_up_to(9), [](const Card&) -> base::Result<CardTrial> {
    return base::fail(base::ErrorCode::kIo, "broken");
  });
  CHECK(broken.error().message == "broken");
}

TEST_CASE("cards on which it fails are left out with those of no higher capability") {
  std::vector<Card> cards;
  for (std::uint64_t memory = 1; memory <= 40; ++memory)
    cards.push_back({std::to_string(memory), memory, memory % 4 == 0 ? 75 : 80});
  int failures = 0;
  const auto result = find_smallest(cards, [&](const Card& card) {
    if (card.memory == 40) return CardTrial{Outcome::kFits, 12, 5};
    if (card.capability < 80) {
      ++failures;
      return CardTrial{Outcome::kFails};
    }
    return CardTrial{card.memory >= 11 ? Outcome::kFits : Outcome::kTooSmall, 12, 5};
  });
  REQUIRE(result.has_value());
  CHECK(result->found->memory == 11);
  CHECK(result->too_small->memory == 10);
  CHECK(failures == 1);
}

}  // namespace
}  // namespace torchport::plan
