#include "base/nearest.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace torchport::base {

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  const std::string small = lower(word);
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::string_view best;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(small, lower(name));
    if (distance >= least) continue;
    least = distance;
    best = name;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names) {
  const std::string_view best = nearest(word, names);
  return best.empty() ? "" : fmt::format("; did you mean \"{}\"?", best);
}

}  // namespace torchport::base
