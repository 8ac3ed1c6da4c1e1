#include "plan/smallest.h"

#include <algorithm>
#include <utility>

namespace torchport::plan {

namespace {

// The cards between those that are too small and the smallest one that fits.
class Between {
 public:
  Between(std::vector<Card> cards, Card fits) : cards_(std::move(cards)), fits_(std::move(fits)) {}

  [[nodiscard]] bool empty() const { return cards_.empty(); }
  [[nodiscard]] const Card& at(std::size_t index) const { return cards_[index]; }
  [[nodiscard]] std::size_t size() const { return cards_.size(); }

  // The first card with so much memory; size() if there is none.
  [[nodiscard]] std::size_t with(std::uint64_t memory) const {
    const auto found = std::find_if(cards_.begin(), cards_.end(),
                                    [&](const Card& card) { return card.memory >= memory; });
    return static_cast<std::size_t>(found - cards_.begin());
  }

  void note(std::size_t index, Outcome outcome) {
    const auto at = cards_.begin() + static_cast<std::ptrdiff_t>(index);
    if (outcome == Outcome::kFits) {
      fits_ = *at;
      cards_.erase(at, cards_.end());
    } else if (outcome == Outcome::kTooSmall) {
      too_small_ = *at;
      cards_.erase(cards_.begin(), at + 1);
    } else {
      const int lacking = at->capability;
      std::erase_if(cards_, [&](const Card& card) { return card.capability <= lacking; });
    }
  }

  [[nodiscard]] Smallest result() const { return {fits_, too_small_}; }

 private:
  std::vector<Card> cards_;  // by memory
  Card fits_;
  std::optional<Card> too_small_;
};

}  // namespace

base::Result<Smallest> find_smallest(
    std::vector<Card> cards, const std::function<base::Result<CardTrial>(const Card&)>& try_card) {
  if (cards.empty()) return Smallest{};
  std::stable_sort(cards.begin(), cards.end(),
                   [](const Card& a, const Card& b) { return a.memory < b.memory; });
  const Card largest = cards.back();
  cards.pop_back();
  const auto first = try_card(largest);
  if (!first) return tl::unexpected<base::Error>(first.error());
  if (first->outcome == Outcome::kFails)
    return base::fail(base::ErrorCode::kConfig,
                      "the program fails on " + largest.profile + ", and not for want of memory");
  if (first->outcome == Outcome::kTooSmall) return Smallest{{}, largest};
  Between between(std::move(cards), largest);
  for (int trials = 0; !between.empty(); ++trials) {
    const std::size_t last = between.size() - 1;
    const std::size_t enough = between.with(first->enough);
    const std::size_t least = between.with(first->least);
    std::size_t index = last;  // the next smaller one
    if (trials == 0 && enough <= last)
      index = enough;
    else if (trials > 1 && least <= last)
      index = least + (last - least) / 2;
    const auto trial = try_card(between.at(index));
    if (!trial) return tl::unexpected<base::Error>(trial.error());
    between.note(index, trial->outcome);
  }
  return between.result();
}

}  // namespace torchport::plan
