#include "source/rules/module_place.h"

#include <algorithm>

#include "source/rules/rule.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

bool is_on_cpu(const SemanticModel& model, Node device) {
  const Value value = model.value(device);
  return value.device_state == DeviceState::kCpu ||
         (value.is(Type::kString) && value.text == "cpu");
}

}  // namespace

std::vector<Node> module_moves(const SemanticModel& model, const ValueHistory& trace) {
  std::vector<Node> moves = calls_on(model, trace, "cuda");
  for (const Node move : calls_on(model, trace, "to")) {
    const Node target = syntax::argument(move, 0, "device");
    if (target && !model.qualified(target).starts_with("torch.")) moves.push_back(move);
  }
  return moves;
}

Place module_place(const SemanticModel& model, const ValueHistory& trace) {
  if (trace.open || trace.origins.empty()) return Place::kUnknown;
  if (!calls_on(model, trace, "cpu").empty()) return Place::kUnknown;
  bool moved = false;
  for (const Node move : calls_on(model, trace, "cuda")) {
    if (semantics::knowledge_at(model, move)) return Place::kUnknown;
    moved = true;
  }
  for (const Node move : calls_on(model, trace, "to")) {
    const Node target = syntax::argument(move, 0, "device");
    if (!target || model.qualified(target).starts_with("torch.") ||
        semantics::knowledge_at(model, move) || is_on_cpu(model, target))
      return Place::kUnknown;
    moved = true;
  }
  if (moved) return Place::kElsewhere;
  // If it was never moved, it is on the CPU, provided that it was created here.
  const bool made_here = std::all_of(trace.origins.begin(), trace.origins.end(), [&](Node origin) {
    return model.value(origin).is(Type::kModule) &&
           model.value(origin).device_state == DeviceState::kCpu;
  });
  return made_here ? Place::kCpu : Place::kUnknown;
}

}  // namespace torchport::rules
