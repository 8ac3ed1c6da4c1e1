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

// Whether a key is, or may be, the variable's name.
bool may_name_visible_devices(const SemanticModel& model, Node key) {
  const auto text = model.constant_string(key);
  return !text || *text == kVisibleDevices;
}

// Whether what `update` or `|=` takes may have the variable.
bool may_hold_visible_devices(const SemanticModel& model, Node given) {
  given = syntax::unwrap(given);
  if (!given) return false;
  if (!given.is(Kind::kDictionary)) return true;
  const auto parts = given.children();
  return std::any_of(parts.begin(), parts.end(), [&](Node part) {
    return !part.is(Kind::kPair) || may_name_visible_devices(model, part.child(Field::kKey));
  });
}

// What a statement or call writes to the environment: one key, or what it is given.
struct Writing {
  Node key;
  Node given;               // `os.environ.update(given)`, `os.environ |= given`
  bool by_keyword = false;  // `os.environ.update(CUDA_VISIBLE_DEVICES="1")`
  bool anything = false;    // bytes, and code that is a text
};

Writing writing_of(const SemanticModel& model, Node node) {
  Writing writing;
  if (node.is(Kind::kAssignment)) {
    const Node left = node.child(Field::kLeft);
    if (!left.is(Kind::kSubscript)) return writing;
    const std::string& object = model.qualified(left.child(Field::kValue));
    writing.anything = object == "os.environb";
    if (object == "os.environ") writing.key = left.child(Field::kSubscriptPart);
    return writing;
  }
  if (node.is(Kind::kAugmentedAssignment)) {
    if (model.qualified(node.child(Field::kLeft)) == "os.environ")
      writing.given = node.child(Field::kRight);
    return writing;
  }
  const std::string& name = model.called(node);
  if (name == "os.environ.setdefault" || name == "os.putenv" || name == "os.environ.__setitem__") {
    writing.key = syntax::positional(node, 0);
  } else if (name == "os.environ.update") {
    writing.by_keyword = bool(syntax::keyword(node, kVisibleDevices));
    writing.given = syntax::positional(node, 0);
  } else if (syntax::callee(node).text() == "exec") {
    const auto code = model.constant_string(syntax::positional(node, 0));
    writing.anything = !code || code->find("environ") != std::string::npos;
  }
  return writing;
}

struct Forks {
  explicit Forks(const SemanticModel& model) {
    static constexpr std::array<std::string_view, 4> kModules{
        "multiprocessing.", "torch.multiprocessing.", "concurrent.futures.", "os."};
    static constexpr std::array<std::string_view, 6> kStarts{
        "Process", "Pool", "ProcessPoolExecutor", "fork", "forkpty", "get_context"};
    bool starts = false;
    bool otherwise = false;
    std::string method;
    for (const Node call : model.nodes(Kind::kCall)) {
      const std::string_view name = model.called(call);
      const auto dot = name.rfind('.');
      if (dot == std::string_view::npos) continue;
      const std::string_view last = name.substr(dot + 1);
      if (std::none_of(kModules.begin(), kModules.end(),
                       [&](std::string_view module) { return name.starts_with(module); }))
        continue;
      if (last == "set_start_method" || last == "get_context") {
        const bool known = syntax::string_value(syntax::argument(call, 0, "method"), method);
        otherwise |= known && method != "fork";
        starts |= last == "get_context";
        continue;
      }
      starts |= base::one_of(kStarts, last);
    }
    any = starts && !otherwise;
  }
  bool any = false;
};

}  // namespace

bool may_set_visible_devices(const SemanticModel& model, Node node) {
  const Writing writing = writing_of(model, node);
  return writing.anything || writing.by_keyword ||
         (writing.key && may_name_visible_devices(model, writing.key)) ||
         may_hold_visible_devices(model, writing.given);
}

bool forks(const SemanticModel& model) {
  return model.facts<Forks>().any;
}

bool sets_visible_devices(const SemanticModel& model, Node node) {
  const Writing writing = writing_of(model, node);
  if (writing.by_keyword || names_visible_devices(writing.key)) return true;
  if (!writing.given) return false;
  const auto parts = syntax::unwrap(writing.given).children();
  return std::any_of(parts.begin(), parts.end(), [](Node pair) {
    return pair.is(Kind::kPair) && names_visible_devices(pair.child(Field::kKey));
  });
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
