// Implements `torchport plan --smallest`: the smallest card on which a program fits.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "cli/command.h"
#include "cli/plan_runs.h"
#include "cli/terminal.h"
#include "plan/report.h"
#include "plan/smallest.h"
#include "runtime/device/spec.h"

namespace torchport::cli {

namespace {

// The profiles that were asked for, or all of the kind.
base::Result<std::vector<plan::Card>> cards_of(const PlanOptions& options) {
  const std::string devices = devices_of(options);
  const auto spec = device::parse_spec(devices);
  if (!spec) return tl::unexpected<base::Error>(spec.error());
  if (spec->description == nullptr)
    return base::fail(base::ErrorCode::kUsage, "--smallest needs devices; write --devices cuda:1");
  if (!options.memory.empty())
    return base::fail(base::ErrorCode::kUsage,
                      "--smallest looks for the memory; leave --memory out");
  if (!options.search.empty() || !options.what_if.empty())
    return base::fail(base::ErrorCode::kUsage,
                      "--smallest, --search and --what-if exclude each other");
  std::vector<plan::Card> cards;
  const auto add = [&](const std::string& name, const devices::Profile& profile) {
    cards.push_back({name, profile.memory, profile.major * 10 + profile.minor});
  };
  for (const std::string& name : options.profiles) {
    const auto one = device::parse_spec(fmt::format("{},profile={}", devices, name));
    if (!one) return tl::unexpected<base::Error>(one.error());
    add(name, *one->profile);
  }
  if (cards.empty())
    for (const devices::Profile& profile : spec->description->profiles)
      add(std::string(profile.name), profile);
  return cards;
}

std::string size_of(std::uint64_t bytes) {
  return base::format_bytes(bytes, 2);
}

// One run, whose line is shown at once.
class Trials {
 public:
  Trials(const PlanOptions& options, const std::vector<std::string>& rest)
      : options_(options), rest_(rest) {}

  base::Result<plan::CardTrial> operator()(const plan::Card& card) {
    const auto plan = run_once(options_, card.profile, rest_, true);
    if (!plan) return tl::unexpected<base::Error>(plan.error());
    if (plan->verdict() == plan::Verdict::kHangsOnValues)
      return tl::unexpected<base::Error>(hangs_on_values(card.profile, *plan));
    plan::CardTrial trial;
    std::string line = plan::in_a_line(*plan);
    if (plan->status != 0 && !plan->ran_out()) {
      trial.outcome = plan::Outcome::kFails;
      line = fmt::format("the program fails there: {}", plan->ended_by());
    } else if (plan->verdict() != plan::Verdict::kFits) {
      trial.outcome = plan::Outcome::kTooSmall;
    }
    for (const plan::Device& device : plan->devices) {
      trial.enough = std::max(trial.enough, device.most());
      trial.least = std::max(trial.least, device.allocated + (device.least() - device.reserved));
    }
    runs_.push_back({{"profile", card.profile},
                     {"memory", card.memory},
                     {"fits", trial.outcome == plan::Outcome::kFits},
                     {"result", line}});
    if (options_.format == "text") {
      fmt::print("{:<24} {:>10}  {}\n", card.profile, size_of(card.memory), line);
      std::fflush(stdout);
    }
    return trial;
  }

  [[nodiscard]] const nlohmann::ordered_json& runs() const { return runs_; }

 private:
  const PlanOptions& options_;
  const std::vector<std::string>& rest_;
  nlohmann::ordered_json runs_ = nlohmann::ordered_json::array();
};

std::string told(const plan::Smallest& smallest) {
  if (!smallest.found)
    return fmt::format("the program fits on no card; the largest is {}, with {}\n",
                       smallest.too_small->profile, size_of(smallest.too_small->memory));
  const plan::Card& found = *smallest.found;
  std::string text = fmt::format("the smallest card that fits: {}, with {}\n", found.profile,
                                 size_of(found.memory));
  if (smallest.too_small)
    text += fmt::format("too small: {}, with {}\n", smallest.too_small->profile,
                        size_of(smallest.too_small->memory));
  return text;
}

nlohmann::ordered_json json_of(const std::optional<plan::Card>& card) {
  if (!card) return nullptr;
  return {{"profile", card->profile}, {"memory", card->memory}};
}

}  // namespace

int plan_smallest(const PlanOptions& options, const std::vector<std::string>& rest) {
  auto cards = cards_of(options);
  if (!cards) return fail(cards.error());
  Trials trials(options, rest);
  const auto smallest =
      plan::find_smallest(std::move(*cards), [&](const plan::Card& card) { return trials(card); });
  if (!smallest) return fail(smallest.error());
  if (options.format == "json") {
    const nlohmann::ordered_json all = {{"smallest", json_of(smallest->found)},
                                        {"too_small", json_of(smallest->too_small)},
                                        {"runs", trials.runs()}};
    fmt::print("{}\n", all.dump(2));
  } else {
    fmt::print("{}", told(*smallest));
  }
  return smallest->found ? kClean : kFindings;
}

}  // namespace torchport::cli
