#include "source/rules/replaced.h"

#include <algorithm>

namespace torchport::rules {

namespace {

// The later definition of the same block with the name; invalid if there is none.
Node later_definition(Node definition, std::string_view name) {
  for (Node later = definition.next_sibling(); later; later = later.next_sibling())
    if (later.kind() == definition.kind() && later.child(Field::kName).text() == name) return later;
  return {};
}

bool is_replaced(const SemanticModel& model, Node definition) {
  const Node name = definition.child(Field::kName);
  const Node later = later_definition(definition, name.text());
  if (!later) return false;
  const auto uses = model.named(name.text());
  return std::none_of(uses.begin(), uses.end(), [&](Node use) {
    return use.start() > name.end() && use.start() < later.start();
  });
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
