#include "source/rules/replaced.h"

namespace torchport::rules {

namespace {

// Whether what names it next in the file is a definition of the same block.
bool is_replaced(const SemanticModel& model, Node definition) {
  const Node name = definition.child(Field::kName);
  const Node next = model.named(name.text()).after(name);
  const Node later = next ? next.parent() : Node();
  return later && next.field() == Field::kName && later.kind() == definition.kind() &&
         later.parent() == definition.parent();
}

}  // namespace

bool is_in_replaced_definition(const SemanticModel& model, Node place) {
  for (Node up = place; up; up = up.parent()) {
    // Decorators may keep what they get: @property, @overload, @app.route.
    if (up.is_any(Kind::kFunction, Kind::kClass) &&
        up.parent().is_any(Kind::kModule, Kind::kBlock) && is_replaced(model, up))
      return true;
  }
  return false;
}

}  // namespace torchport::rules
