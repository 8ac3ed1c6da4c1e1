#include "source/edit/trial.h"

namespace torchport::edit {

using syntax::Field;
using syntax::Kind;
using syntax::Node;

syntax::Node statement_of_trial(Node node) {
  for (; node; node = node.parent()) {
    const Node block = node.parent();
    const Node branch = block.parent();
    if (!branch.is(Kind::kIf) || !branch.parent().is(Kind::kModule)) continue;
    const auto parts = branch.child(Field::kCondition).children();
    const bool main = parts.size() == 3 && parts[0].text() == "__name__" &&
                      parts[1].text() == "==" &&
                      parts[2].text().find("__main__") != std::string_view::npos;
    return main && block.field() == Field::kConsequence ? node : Node{};
  }
  return {};
}

}  // namespace torchport::edit
