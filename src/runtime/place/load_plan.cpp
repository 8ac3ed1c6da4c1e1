// Decides which tensor of a file goes into which tensor of a model.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torchport/checkpoint.h>

#include "runtime/checkpoint/wrappers.h"

namespace torchport {

namespace {

using checkpoint::kWrappers;

// The name without the prefixes of wrappers, at any position.
std::string without_wrapper_names(std::string_view name) {
  std::string result;
  while (!name.empty()) {
    const auto wrapper = std::find_if(kWrappers.begin(), kWrappers.end(), [&](const auto& known) {
      return name.starts_with(known.key_prefix);
    });
    if (wrapper != kWrappers.end()) {
      name.remove_prefix(wrapper->key_prefix.size());
      continue;
    }
    const auto dot = name.find('.');
    const std::size_t length = dot == std::string_view::npos ? name.size() : dot + 1;
    result += name.substr(0, length);
    name.remove_prefix(length);
  }
  return result;
}

using Indices = std::vector<std::size_t>;

class Matcher {
 public:
  Matcher(const std::vector<TensorSlot>& wanted, const std::vector<TensorSlot>& given)
      : wanted_(wanted), given_(given) {
    for (std::size_t i = 0; i < wanted.size(); ++i) want_left_.push_back(i);
    for (std::size_t i = 0; i < given.size(); ++i) give_left_.push_back(i);
  }

  // Pairs the remaining tensors by the names that the two functions make of them. Names that two
  // tensors would share are not paired.
  template <class OfWanted, class OfGiven>
  std::size_t pair_by(OfWanted of_wanted, OfGiven of_given) {
    std::unordered_map<std::string, Indices> places;
    for (const std::size_t i : want_left_) places[of_wanted(wanted_[i].name)].push_back(i);
    std::unordered_map<std::string, Indices> sources;
    for (const std::size_t i : give_left_) sources[of_given(given_[i].name)].push_back(i);
    std::unordered_set<std::size_t> taken;
    std::unordered_set<std::size_t> filled;
    for (const std::size_t i : want_left_) {
      const std::string name = of_wanted(wanted_[i].name);
      const auto source = sources.find(name);
      if (source == sources.end() || source->second.size() != 1 || places[name].size() != 1)
        continue;
      pairs_.emplace_back(i, source->second.front());
      taken.insert(source->second.front());
      filled.insert(i);
    }
    std::erase_if(want_left_, [&](std::size_t i) { return filled.contains(i); });
    std::erase_if(give_left_, [&](std::size_t i) { return taken.contains(i); });
    return filled.size();
  }

  // Removes from the remaining names those that are one tensor with a paired name.
  void cover(const std::vector<std::vector<std::string>>& ties) {
    if (ties.empty()) return;
    std::unordered_set<std::string_view> paired;
    for (const auto& [want, give] : pairs_) paired.insert(wanted_[want].name);
    std::unordered_set<std::string_view> covered;
    for (const auto& group : ties) {
      if (std::any_of(group.begin(), group.end(),
                      [&](auto& name) { return paired.contains(name); }))
        covered.insert(group.begin(), group.end());
    }
    std::erase_if(want_left_, [&](std::size_t i) { return covered.contains(wanted_[i].name); });
  }

  // The prefix that, removed from the given names (or added to them), makes most of them match.
  struct Prefix {
    std::string text;
    bool on_given = true;
    std::size_t matches = 0;
  };
  [[nodiscard]] std::optional<Prefix> best_prefix() const {
    std::optional<Prefix> best;
    for (const bool on_given : {true, false}) {
      for (const auto& [text, matches] : prefixes(on_given)) {
        if (!best || matches > best->matches) best = Prefix{text, on_given, matches};
      }
    }
    return best;
  }

  [[nodiscard]] const Indices& want_left() const { return want_left_; }
  [[nodiscard]] const Indices& give_left() const { return give_left_; }
  std::vector<std::pair<std::size_t, std::size_t>> take_pairs() { return std::move(pairs_); }

 private:
  // Counts each prefix that turns a name of one side into a name of the other.
  [[nodiscard]] std::map<std::string, std::size_t> prefixes(bool on_given) const {
    const auto& longer_side = on_given ? given_ : wanted_;
    const auto& shorter_side = on_given ? wanted_ : given_;
    std::unordered_map<std::string_view, const TensorSlot*> shorter;
    for (const std::size_t i : on_given ? want_left_ : give_left_)
      shorter[shorter_side[i].name] = &shorter_side[i];
    std::map<std::string, std::size_t> counts;
    for (const std::size_t i : on_given ? give_left_ : want_left_) {
      const std::string_view name = longer_side[i].name;
      for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
           dot = name.find('.', dot + 1)) {
        const auto found = shorter.find(name.substr(dot + 1));
        // Many modules have a "weight", so the shape has to match, too.
        if (found != shorter.end() && found->second->shape == longer_side[i].shape)
          ++counts[std::string(name.substr(0, dot + 1))];
      }
    }
    return counts;
  }

  const std::vector<TensorSlot>& wanted_;
  const std::vector<TensorSlot>& given_;
  Indices want_left_;
  Indices give_left_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

std::string without(const std::string& name, const std::string& prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
}

std::string same(const std::string& name) {
  return name;
}

void remap_prefixes(Matcher& matcher, LoadReport& report) {
  const auto off = [](const std::string& name) { return without_wrapper_names(name); };
  if (const auto count = matcher.pair_by(off, off); count > 0)
    report.remapped.push_back(
        fmt::format("{} name{} matched without the prefixes of wrappers (module., _orig_mod., ...)",
                    count, count == 1 ? "" : "s"));
  const auto prefix = matcher.best_prefix();
  if (!prefix) return;
  const auto cut = [&](const std::string& name) { return without(name, prefix->text); };
  const auto count = prefix->on_given ? matcher.pair_by(same, cut) : matcher.pair_by(cut, same);
  if (count > 0)
    report.remapped.push_back(fmt::format("\"{}\" {} {} name{}", prefix->text,
                                          prefix->on_given ? "removed from" : "added to", count,
                                          count == 1 ? "" : "s"));
}

// Describes what remapping would do, without doing it.
std::string hint_for(Matcher matcher) {
  LoadReport trial;
  remap_prefixes(matcher, trial);
  return trial.remapped.empty()
             ? std::string()
             : fmt::format("with remap_prefixes: {}", fmt::join(trial.remapped, "; "));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void compare(const TensorSlot& wanted, const TensorSlot& given, LoadReport& report) {
  if (wanted.shape != given.shape)
    report.shapes.push_back({wanted.name, shape_text(wanted.shape), shape_text(given.shape)});
  if (wanted.dtype != given.dtype)
    report.dtypes.push_back({wanted.name, c10::toString(wanted.dtype), c10::toString(given.dtype)});
}

void add_names(std::string& text, std::string_view what, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  if (names.empty()) return;
  const std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown)));
  text += fmt::format("  {} {}: {}{}\n", names.size(), what, fmt::join(shown, ", "),
                      names.size() > kShown ? ", ..." : "");
}

std::vector<std::string> lines(const std::vector<LoadReport::Mismatch>& mismatches) {
  std::vector<std::string> result;
  for (const auto& [name, wanted, given] : mismatches)
    result.push_back(fmt::format("{} (the model has {}, the file {})", name, wanted, given));
  return result;
}

}  // namespace

std::string LoadReport::text() const {
  std::string text;
  add_names(text, "missing from the file", missing);
  add_names(text, "not in the model", unexpected);
  add_names(text, "of another shape", lines(shapes));
  add_names(text, "cast", lines(dtypes));
  for (const std::string& what : remapped) text += fmt::format("  {}\n", what);
  if (!hint.empty()) text += fmt::format("  {}\n", hint);
  return text;
}

LoadPlan plan_load(const std::vector<TensorSlot>& wanted, const std::vector<TensorSlot>& given,
                   bool remap, const std::vector<std::vector<std::string>>& ties) {
  Matcher matcher(wanted, given);
  matcher.pair_by(same, same);
  matcher.cover(ties);
  LoadPlan plan;
  if (!matcher.want_left().empty() && !matcher.give_left().empty()) {
    if (remap)
      remap_prefixes(matcher, plan.report);
    else
      plan.report.hint = hint_for(matcher);
    matcher.cover(ties);
  }
  for (const std::size_t i : matcher.want_left()) plan.report.missing.push_back(wanted[i].name);
  for (const std::size_t i : matcher.give_left()) plan.report.unexpected.push_back(given[i].name);
  plan.pairs = matcher.take_pairs();
  std::sort(plan.pairs.begin(), plan.pairs.end());
  for (const auto& [want, give] : plan.pairs) compare(wanted[want], given[give], plan.report);
  return plan;
}

}  // namespace torchport
