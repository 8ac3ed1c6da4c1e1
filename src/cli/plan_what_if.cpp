// Implements `torchport plan --what-if`: runs the program as it is and with changes, and compares.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/plan_runs.h"
#include "cli/terminal.h"
#include "plan/report.h"
#include "runtime/device/spec.h"

namespace torchport::cli {

namespace {

struct Change {
  std::string_view name;
  std::string_view explanation;
};

// What python/torchport/virtual/planning_changes.py makes of a program.
constexpr std::array<Change, 7> kChanges = {{
    {"checkpointing", "activations of repeated blocks are computed again"},
    {"autocast", "the forward pass is under autocast to bfloat16"},
    {"bfloat16", "parameters and inputs are bfloat16"},
    {"sgd", "SGD instead of the program's optimizer"},
    {"adafactor", "Adafactor instead of the program's optimizer"},
    {"loop", "the optimizer goes from parameter to parameter (foreach=False)"},
    {"shard", "parameters, gradients and states are sharded over N devices (fully_shard)"},
}};
constexpr std::string_view kAll =
    "checkpointing,autocast,bfloat16,sgd,adafactor,loop,shard:2,shard:8";

bool is_change(std::string_view name) {
  return std::any_of(kChanges.begin(), kChanges.end(),
                     [&](const Change& change) { return change.name == name; });
}

// One line of the table: "checkpointing+bfloat16", "shard:8", "h100-80g", "cuda:4", "ranks:64".
struct Case {
  std::string name;
  std::vector<std::string> changes;
  std::string profile;  // empty: that of the others
  std::string devices;
  int ranks = 0;
  int shards = 0;
};

// The number after "NAME:"; 0 if it is no number of ranks.
int count_after(std::string_view word, std::string_view name) {
  const std::string digits(word.substr(name.size() + 1));
  char* end = nullptr;
  const long count = std::strtol(digits.c_str(), &end, 10);
  return *end == '\0' && count >= 1 && count <= (1 << 20) ? static_cast<int>(count) : 0;
}

// Takes one word of a case. Returns whether it is one.
bool take(Case& tried, std::string_view word) {
  if (word.starts_with("shard:")) {
    tried.shards = count_after(word, "shard");
    tried.changes.emplace_back("shard");
    return tried.shards > 0;
  }
  if (word.starts_with("ranks:")) {
    tried.ranks = count_after(word, "ranks");
    return tried.ranks > 0;
  }
  if (is_change(word) && word != "shard") {
    tried.changes.emplace_back(word);
    return true;
  }
  if (word.find(':') != std::string_view::npos && device::parse_spec(word)) {
    tried.devices = word;
    return true;
  }
  tried.profile = word;
  return device::parse_spec(fmt::format("cuda:1,profile={}", word)).has_value();
}

base::Error nothing_to_try(std::string_view word) {
  std::string known;
  for (const Change& change : kChanges)
    known += fmt::format("\n  {:<14} {}", change.name == "shard" ? "shard:N" : change.name,
                         change.explanation);
  return {
      base::ErrorCode::kUsage,
      fmt::format("--what-if: {} is nothing to try; write `all`, or some of these, with commas "
                  "between them, and `+` between those that belong together:{}\n  {:<14} {}\n"
                  "  {:<14} {}\n  {:<14} {}",
                  word.empty() ? "\"\"" : word, known, "ranks:N", "one process stands for N ranks",
                  "KIND:N", "N devices, e.g. cuda:8", "PROFILE", "another device, e.g. h100-80g"),
      {},
      0};
}

base::Result<Case> parse_case(std::string_view text) {
  Case result;
  result.name = text;
  for (const std::string_view word : base::split(text, '+'))
    if (!take(result, word)) return tl::unexpected<base::Error>(nothing_to_try(word));
  return result;
}

// What the case did not do to the program, to be said instead of figures.
std::string not_done(const Case& tried, const plan::Plan& plan) {
  if (plan.verdict() == plan::Verdict::kHangsOnValues) return {};
  if (plan.status != 0 && !plan.ran_out())
    return fmt::format("the program does not run so: {}", plan.ended_by());
  for (const std::string& change : tried.changes) {
    if (plan.ran_out()) break;
    const auto applied = plan.changes.find(change);
    if (applied == plan.changes.end() || applied->second == 0)
      return fmt::format("there is nothing in the program that {} changes", change);
  }
  return {};
}

base::Result<plan::Plan> try_case(PlanOptions options, const Case& tried, std::string profile,
                                  const std::vector<std::string>& rest) {
  if (!tried.profile.empty()) profile = tried.profile;
  if (!tried.devices.empty()) options.devices = tried.devices;
  if (tried.ranks > 0) options.ranks = tried.ranks;
  const bool shards = tried.shards > 0;
  if (shards)
    setenv("TORCHPORT_RANKS", std::to_string(tried.shards).c_str(), 1);
  else
    unsetenv("TORCHPORT_RANKS");
  return run_once(options, profile, rest, true,
                  {{"TORCHPORT_CHANGES", fmt::format("{}", fmt::join(tried.changes, "+"))}});
}

}  // namespace

int what_if(const PlanOptions& options, const std::string& profile,
            const std::vector<std::string>& rest) {
  std::vector<Case> cases = {{.name = "as it is", .changes = {}, .profile = {}, .devices = {}}};
  const std::string asked = options.what_if == "all" ? std::string(kAll) : options.what_if;
  for (const std::string_view text : base::split(asked, ',')) {
    auto one = parse_case(text);
    if (!one) return fail(one.error());
    cases.push_back(std::move(*one));
  }
  plan::Alternatives alternatives;
  bool one_fits = false;
  bool one_hangs = false;
  const bool as_text = options.format != "json";
  if (as_text) fmt::print("{}", plan::alternatives_heading());
  for (const Case& tried : cases) {
    auto plan = try_case(options, tried, profile, rest);
    if (!plan) return fail(plan.error());
    plan::Alternative alternative{tried.name, not_done(tried, *plan), std::move(*plan)};
    one_fits = one_fits ||
               (alternative.not_done.empty() && alternative.plan.verdict() == plan::Verdict::kFits);
    one_hangs = one_hangs || alternative.plan.verdict() == plan::Verdict::kHangsOnValues;
    if (as_text) fmt::print("{}", plan::alternative_as_text(alternative));
    std::fflush(stdout);
    alternatives.push_back(std::move(alternative));
  }
  if (!as_text) fmt::print("{}", plan::alternatives_as_json(alternatives));
  return one_fits ? kClean : one_hangs ? kNotKnown : kFindings;
}

}  // namespace torchport::cli
