#include "source/semantics/visible_devices.h"

#include <algorithm>
#include <array>

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

bool may_be_of_project(Node import) {
  static constexpr auto kHarmless = std::to_array<std::string_view>(
      {"PIL",        "absl",         "argparse",    "collections",  "contextlib",
       "copy",       "cv2",          "dataclasses", "datetime",     "easydict",
       "einops",     "enum",         "functools",   "glob",         "itertools",
       "json",       "logging",      "math",        "matplotlib",   "multiprocessing",
       "numpy",      "omegaconf",    "os",          "pandas",       "pathlib",
       "pprint",     "random",       "scipy",       "shutil",       "sklearn",
       "subprocess", "sys",          "tensorboard", "tensorboardX", "time",
       "tqdm",       "transformers", "typing",      "urllib",       "warnings",
       "yacs"});
  std::string_view module = import.text();
  if (import.is(Kind::kImportFrom)) module = import.child(Field::kModuleName).text();
  if (module.starts_with("import ")) module.remove_prefix(7);
  module = module.substr(0, module.find_first_of(" .,\t"));
  return module != "torch" && module != "torchvision" && module != "__future__" &&
         std::find(kHarmless.begin(), kHarmless.end(), module) == kHarmless.end();
}

bool in_main_block(Node node) {
  for (Node up = node.parent(); up; up = up.parent()) {
    if (up.is(Kind::kIf) &&
        up.child(Field::kCondition).text().find("__name__") != std::string_view::npos)
      return true;
  }
  return false;
}

Node last_setting_on_import(const SemanticModel& model) {
  Node last;
  if (model.tree().source().find(kVisibleDevices) == std::string::npos) return last;
  for (const Kind kind : {Kind::kAssignment, Kind::kCall}) {
    for (const Node node : model.nodes(kind)) {
      if (!sets_visible_devices(model, node) || syntax::function_of(node) || in_main_block(node) ||
          model.enclosing_class(node) != nullptr)
        continue;
      Node top = node;
      while (!top.parent().is(Kind::kModule)) top = top.parent();
      if (!last || top.start() > last.start()) last = top;
    }
  }
  return last;
}

}  // namespace torchport::semantics
