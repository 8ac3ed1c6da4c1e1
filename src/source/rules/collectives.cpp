#include "source/rules/collectives.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace torchport::rules {

namespace {

bool is_collective(const std::string& name) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"all_reduce", "all_gather", "all_gather_into_tensor", "all_to_all", "all_to_all_single",
       "broadcast", "reduce", "reduce_scatter", "reduce_scatter_tensor", "gather", "scatter",
       "send", "recv", "isend", "irecv", "all_gather_tensor"});
  if (!name.starts_with("torch.distributed.")) return false;
  return base::one_of(kNames, std::string_view(name).substr(name.rfind('.') + 1));
}

}  // namespace

bool runs_collectives(const SemanticModel& model, Node place) {
  const Node function = syntax::function_of(place);
  if (!function) return false;
  const auto calls = model.nodes(Kind::kCall, function);
  return std::any_of(calls.begin(), calls.end(),
                     [&](Node call) { return is_collective(model.called(call)); });
}

}  // namespace torchport::rules
