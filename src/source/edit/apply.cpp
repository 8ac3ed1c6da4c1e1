#include "source/edit/apply.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace torchport::edit {

namespace {

struct Chosen {
  std::vector<Edit> edits;
  std::vector<std::size_t> used;
};

Chosen choose(const std::vector<const Fix*>& fixes) {
  std::vector<std::size_t> order(fixes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto first_offset = [&](std::size_t i) {
    std::uint32_t first = UINT32_MAX;
    for (const Edit& edit : fixes[i]->edits) first = std::min(first, edit.span.start);
    return first;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return first_offset(a) < first_offset(b); });
  Chosen chosen;
  // Accepted edits by their start. Accepted edits do not overlap each other, so a new edit can only
  // overlap its neighbours.
  std::multimap<std::uint32_t, const Edit*> accepted;
  const auto clashes = [&](const Edit& edit) {
    auto next = accepted.lower_bound(edit.span.start);
    for (auto it = next; it != accepted.end() && it->first <= edit.span.end; ++it) {
      if (overlap(edit, *it->second)) return true;
    }
    // A longer edit further left may reach this place, with insertions between its start and here.
    for (int back = 0; back < 4 && next != accepted.begin(); ++back) {
      if (overlap(edit, *(--next)->second)) return true;
    }
    return false;
  };
  // Several findings may need the same edit: that of an import, or of a statement around them.
  const auto is_made = [&](const Edit& edit) {
    const auto [first, last] = accepted.equal_range(edit.span.start);
    return std::any_of(first, last, [&](const auto& made) { return *made.second == edit; });
  };
  for (const std::size_t i : order) {
    if (fixes[i]->edits.empty() ||
        std::any_of(fixes[i]->edits.begin(), fixes[i]->edits.end(),
                    [&](const Edit& edit) { return !is_made(edit) && clashes(edit); }))
      continue;
    for (const Edit& edit : fixes[i]->edits) {
      if (is_made(edit)) continue;
      accepted.emplace(edit.span.start, &edit);
      chosen.edits.push_back(edit);
    }
    chosen.used.push_back(i);
  }
  std::sort(chosen.used.begin(), chosen.used.end());
  return chosen;
}

}  // namespace

Applied apply_fixes(std::string_view text, const std::vector<const Fix*>& fixes,
                    const DeviceSource& devices) {
  Chosen chosen = choose(fixes);
  Needs needs;
  std::vector<const Fix*> used;
  for (const std::size_t i : chosen.used) {
    used.push_back(fixes[i]);
    needs.module_device |= fixes[i]->needs.module_device;
    needs.imports.insert(needs.imports.end(), fixes[i]->needs.imports.begin(),
                         fixes[i]->needs.imports.end());
  }
  const syntax::Node trial = devices.trial_of(used);
  for (Edit& edit : devices.edits_for(needs, trial)) {
    const bool clashes =
        std::any_of(chosen.edits.begin(), chosen.edits.end(), [&](const Edit& other) {
          return edit.span.start > other.span.start && edit.span.start < other.span.end;
        });
    // An import would be inserted inside a replaced range: apply nothing instead of a part.
    if (clashes) return {std::string(text), {}, false};
    chosen.edits.insert(chosen.edits.begin(), std::move(edit));
  }
  sort_edits(chosen.edits);
  return {apply_edits(text, chosen.edits), std::move(chosen.used),
          needs.module_device && !devices.has_variable() && !trial};
}

Applied apply_fixes(std::string_view text, const std::vector<const Fix*>& fixes) {
  Chosen chosen = choose(fixes);
  sort_edits(chosen.edits);
  return {apply_edits(text, chosen.edits), std::move(chosen.used), false};
}

}  // namespace torchport::edit
