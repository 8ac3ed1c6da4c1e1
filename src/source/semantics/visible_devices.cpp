#include "source/semantics/visible_devices.h"

namespace torchport::semantics {

namespace {

constexpr std::string_view kVisibleDevices = "CUDA_VISIBLE_DEVICES";

bool names_visible_devices(Node node) {
  std::string text;
  return syntax::string_value(node, text) && text == kVisibleDevices;
}

}  // namespace

bool sets_visible_devices(const SemanticModel& model, Node node) {
  if (node.is(Kind::kAssignment)) {
    const Node left = node.child(Field::kLeft);
    return left.is(Kind::kSubscript) && names_visible_devices(left.child(Field::kSubscriptPart)) &&
           model.qualified(left.child(Field::kValue)) == "os.environ";
  }
  const std::string& name = model.called(node);
  if (name == "os.environ.setdefault" || name == "os.putenv")
    return names_visible_devices(syntax::positional(node, 0));
  if (name != "os.environ.update") return false;
  if (syntax::keyword(node, kVisibleDevices)) return true;
  for (const Node pair : syntax::positional(node, 0).children())
    if (pair.is(Kind::kPair) && names_visible_devices(pair.child(Field::kKey))) return true;
  return false;
}

}  // namespace torchport::semantics
