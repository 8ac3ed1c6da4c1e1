// Spreads the traits of functions to those that call them.
#include <algorithm>
#include <utility>

#include "source/flow/joined.h"
#include "source/flow/traits.h"

namespace torchport::flow {

std::vector<std::uint32_t> Summary::Joined::targets_of(std::uint32_t file,
                                                       const Callee& callee) const {
  if (callee.empty()) return {};
  const std::string_view name = std::string_view(callee).substr(1);
  if (callee.front() == '=') return in_module(file, name, 0);
  if (callee.front() == '@') return by_import(file, name, 0);
  const auto found = methods.find(name);
  return found == methods.end() ? std::vector<std::uint32_t>{} : found->second.functions;
}

void Summary::Joined::settle_traits() {
  struct Edge {
    std::uint32_t to = kNoFunction;
    unsigned traits = 0;
  };
  std::vector<std::vector<Edge>> spread(functions.size());
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    FunctionOfProject& function = functions[i];
    function.traits = function.facts->traits;
    if (function.traits != 0) open.push_back(i);
    for (const Callee& callee : function.facts->results.results) {
      const auto targets = resolve(function.file, callee);
      if (targets.size() == 1) spread[targets.front()].push_back({i, kGivesCpu | kEvaluates});
    }
  }
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    for (const CallOf& call : functions[i].calls)
      if (call.caller != kNoFunction)
        spread[i].push_back({call.caller, kWrites | (call.call->surely ? kRefuses : 0U)});
  }
  while (!open.empty()) {
    const std::uint32_t from = open.back();
    open.pop_back();
    for (const Edge& edge : spread[from]) {
      const unsigned more = functions[from].traits & edge.traits & ~functions[edge.to].traits;
      if (more == 0) continue;
      functions[edge.to].traits |= more;
      open.push_back(edge.to);
    }
  }
  settle_refusals();
}

bool Summary::Joined::has_trait(std::uint32_t file, const Callee& callee, unsigned trait) const {
  const auto targets = targets_of(file, callee);
  return !targets.empty() && std::all_of(targets.begin(), targets.end(), [&](std::uint32_t target) {
    return (functions[target].traits & trait) != 0;
  });
}

// Which calls run only after one that refuses what is not on CUDA.
void Summary::Joined::settle_refusals() {
  const bool any = std::any_of(functions.begin(), functions.end(), [](const auto& function) {
    return (function.traits & kRefuses) != 0;
  });
  if (!any) return;
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const std::vector<Call>& calls = files[file].facts.calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      // A call comes after those before it in the list only.
      if (calls[i].after == 0 || calls[i].after > i) continue;
      const Call& before = calls[calls[i].after - 1];
      if (refused.contains(&before) || has_trait(file, before.callee, kRefuses))
        refused.insert(&calls[i]);
    }
  }
}

}  // namespace torchport::flow
