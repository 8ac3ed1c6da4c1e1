#include "source/rules/load/common/loading.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "source/flow/sources.h"
#include "source/rules/edits.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

constexpr int kMaxDepth = 4;

// Whether an entry of a checkpoint is a plain number, string or setting.
bool is_plain_entry(Node subscript_or_call) {
  static constexpr std::array<std::string_view, 16> kPlain{
      "epoch",   "iter",         "iteration", "step", "steps",   "global_step",      "args",
      "config",  "cfg",          "opt",       "arch", "hparams", "hyper_parameters", "epochs",
      "version", "params_config"};
  std::string key;
  const Node node = subscript_or_call.is(Kind::kCall)
                        ? syntax::positional(subscript_or_call, 0)
                        : subscript_or_call.child(Field::kSubscriptPart);
  return syntax::string_value(node, key) && base::one_of(kPlain, key);
}

// Whether load_state_dict of the receiver copies: by its type, or by a name that such objects
// usually have.
bool copies_on_load(const SemanticModel& model, Node call) {
  const Node receiver = object_of(call);
  if (!receiver || syntax::keyword(call, "assign")) return false;
  const Value value = model.value(receiver);
  if (value.is(Type::kModule) || value.is(Type::kOptimizer)) return true;
  const std::string_view last = receiver.is(Kind::kAttribute)
                                    ? receiver.child(Field::kAttributeName).text()
                                    : receiver.text();
  const std::string name = base::lower(last);
  if (name.find("ema") != std::string::npos && name.find("schema") == std::string::npos)
    return false;
  for (const std::string_view part :
       {"model", "net", "optim", "sched", "encoder", "decoder", "module", "backbone"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

LoadedUse combine(std::optional<LoadedUse> a, LoadedUse b) {
  if (!a || *a == b) return b;
  return *a == LoadedUse::kModel || b == LoadedUse::kModel ? LoadedUse::kModel : LoadedUse::kOther;
}

// How the loaded object is used in this expression; none if the use is harmless.
std::optional<LoadedUse> use_of(const SemanticModel& model, Node expression, int depth);

std::optional<LoadedUse> use_of_name(const SemanticModel& model, Node target, int depth) {
  std::optional<LoadedUse> result;
  for (const Node read : reads_of(model, target)) {
    if (read.start() < target.start()) continue;
    if (const auto use = use_of(model, read, depth + 1)) result = combine(result, *use);
  }
  return result;
}

std::optional<LoadedUse> use_of(const SemanticModel& model, Node expression, int depth) {
  if (depth > kMaxDepth) return LoadedUse::kOther;
  for (Node node = expression;;) {
    const Node parent = node.parent();
    if (parent.is(Kind::kParenthesized)) {
      node = parent;
    } else if (parent.is(Kind::kSubscript) && node.field() == Field::kValue) {
      if (is_plain_entry(parent)) return std::nullopt;
      node = parent;
    } else if (parent.is(Kind::kArgumentList) && parent.parent().is(Kind::kCall)) {
      const Node call = parent.parent();
      if (method_name(call) != "load_state_dict") return LoadedUse::kOther;
      return copies_on_load(model, call) ? LoadedUse::kStateDict : LoadedUse::kModel;
    } else if (parent.is(Kind::kAttribute) && parent.parent().is(Kind::kCall)) {
      const std::string_view method = parent.child(Field::kAttributeName).text();
      if (method == "keys") return std::nullopt;
      if (method == "get" || method == "pop") {
        if (is_plain_entry(parent.parent())) return std::nullopt;
        node = parent.parent();
        continue;
      }
      const bool module_like = method == "eval" || method == "train" || method == "forward";
      return module_like && !is_moved_above(model, parent.parent()) ? LoadedUse::kModel
                                                                    : LoadedUse::kOther;
    } else if (parent.is(Kind::kCall) && node.field() == Field::kFunctionPart) {
      return LoadedUse::kModel;
    } else if (parent.is(Kind::kComparison)) {
      return std::nullopt;
    } else if (parent.is(Kind::kAssignment) && node.field() == Field::kRight &&
               parent.child(Field::kLeft).is(Kind::kIdentifier)) {
      return use_of_name(model, parent.child(Field::kLeft), depth);
    } else {
      return LoadedUse::kOther;
    }
  }
}

}  // namespace

std::optional<std::size_t> map_location_position(std::string_view qualified) {
  if (qualified == "torch.load" || qualified == "torch.jit.load" ||
      qualified == "torch.serialization.load")
    return 1;
  static constexpr std::array<std::string_view, 5> kFromUrl{
      "torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url",
      "torchvision.models.utils.load_state_dict_from_url",
      "torchvision._internally_replaced_utils.load_state_dict_from_url", "torch.hub.load_url"};
  if (base::one_of(kFromUrl, qualified)) return 2;
  return std::nullopt;
}

namespace {

// Whether the code removes the file after it has read it: `os.remove(path)`, `path.unlink()`. Only
// who wrote a file does.
bool is_removed_after(const SemanticModel& model, Node load, Node path, Node function) {
  const Node scope = function ? function : model.tree().root();
  const auto calls = model.nodes(Kind::kCall, scope);
  return std::any_of(calls.begin(), calls.end(), [&](Node call) {
    if (call.start() < load.end()) return false;
    const std::string& name = model.called(call);
    if (name == "os.remove" || name == "os.unlink")
      return syntax::positional(call, 0).text() == path.text();
    return method_name(call) == "unlink" && syntax::unwrap(object_of(call)).text() == path.text();
  });
}

}  // namespace

bool reads_own_output(const SemanticModel& model, Node call) {
  const Node source = syntax::argument(call, 0, "f");
  if (source.is(Kind::kCall) && model.called(source) == "io.BytesIO") {
    return source.text().find(".getvalue()") != std::string_view::npos;
  }
  if (!source) return false;
  // The same path or buffer was written before, in this function (or at the same level of the
  // file), by torch.save(x, path) or x.save(path).
  const Node function = syntax::function_of(call);
  if (is_removed_after(model, call, source, function)) return true;
  // A path of the object may be written by another method.
  const bool of_object =
      source.is(Kind::kAttribute) && source.child(Field::kObject).text() == model.self_name(call);
  const Node scope = of_object ? syntax::class_of(call) : function ? function : model.tree().root();
  const std::uint32_t end = of_object ? scope.subtree_end() : call.index();
  for (std::uint32_t i = scope.index(); i < end; ++i) {
    const Node other = model.tree().at(i);
    if (!other.is(Kind::kCall) || (!function && syntax::function_of(other))) continue;
    const std::string& name = model.called(other);
    const bool by_torch = name == "torch.save" || name == "torch.jit.save";
    if (!by_torch && method_name(other) != "save") continue;
    if (syntax::argument(other, by_torch ? 1 : 0, "f").text() == source.text()) return true;
  }
  return false;
}

namespace {

// Names that say nothing about which file is meant.
bool is_general_name(std::string_view name) {
  static constexpr std::array<std::string_view, 14> kNames{
      "os",   "Path", "str",  "self",   "cls", "args",   "cfg",
      "conf", "opt",  "join", "config", "f",   "device", "model"};
  return base::one_of(kNames, name);
}

// The names of a path, and of what those are bound to.
void add_names(const SemanticModel& model, Node path, int depth,
               std::vector<std::string_view>& names, std::vector<Node>& origins) {
  for (std::uint32_t i = path.index(); i < path.subtree_end(); ++i) {
    const Node name = model.tree().at(i);
    if (name.is(Kind::kCall)) origins.push_back(name);
    if (!name.is(Kind::kIdentifier) || name.field() == Field::kAttributeName ||
        name.field() == Field::kName || is_general_name(name.text()) ||
        !model.qualified(name).empty())
      continue;
    if (std::find(names.begin(), names.end(), name.text()) != names.end()) continue;
    names.push_back(name.text());
    if (depth >= kMaxDepth) continue;
    const auto bindings = model.scopes().reaching(name.text(), name);
    if (bindings.size() == 1 && bindings.front()->kind == semantics::BindingKind::kAssign)
      add_names(model, bindings.front()->value, depth + 1, names, origins);
  }
}

}  // namespace

std::vector<std::string> writers_before(const SemanticModel& model, Node call) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string_view> names;
  std::vector<Node> origins;
  add_names(model, syntax::argument(call, 0, "f"), 0, names, origins);
  const Node function = syntax::function_of(call);
  const Node scope = function ? function : model.tree().root();
  std::vector<std::string> writers;
  const auto add = [&](Node other) {
    std::string callee = flow::callee_of(model, other);
    if (!callee.empty() && writers.size() < kMost) writers.push_back(std::move(callee));
  };
  for (const Node origin : origins) add(origin);
  for (const Node other : model.nodes(Kind::kCall, scope)) {
    if (other.end() > call.start() || syntax::function_of(other) != function) continue;
    const Node arguments = syntax::callee(other).next_sibling();
    if (std::any_of(names.begin(), names.end(), [&](std::string_view name) {
          return arguments && !model.named(name, arguments).empty();
        }))
      add(other);
  }
  return writers;
}

bool is_scheduler_state(const SemanticModel& model, Node call) {
  const Node user = call.parent().parent();
  if (!call.parent().is(Kind::kArgumentList) || method_name(user) != "load_state_dict")
    return false;
  const Node receiver = object_of(user);
  const std::string_view last = receiver.is(Kind::kAttribute)
                                    ? receiver.child(Field::kAttributeName).text()
                                    : receiver.text();
  return !model.value(receiver).is(Type::kModule) &&
         base::lower(last).find("sched") != std::string::npos;
}

LoadedUse use_of_loaded(const SemanticModel& model, Node call) {
  return use_of(model, call, 0).value_or(LoadedUse::kOther);
}

namespace {

bool says_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  const std::string lower = base::lower(text);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// The key with which an entry is taken out of the loaded object here: `x["model"]`,
// `x.get("model")`.
Node entry_key(Node loaded) {
  const Node parent = loaded.parent();
  if (parent.is(Kind::kSubscript) && loaded.field() == Field::kValue)
    return parent.child(Field::kSubscriptPart);
  if (!parent.is(Kind::kAttribute) || !parent.parent().is(Kind::kCall)) return {};
  const std::string_view method = parent.child(Field::kAttributeName).text();
  return method == "get" || method == "pop" ? syntax::positional(parent.parent(), 0) : Node{};
}

// Whether only entries that must be weights are taken out of it.
bool takes_weights_only(Node loaded) {
  const Node key = entry_key(loaded);
  std::string text;
  return !key || (syntax::string_value(key, text) && text.starts_with("params"));
}

// Whether it is an optimizer or a scheduler, whose state may hold anything.
bool is_optimizer(const SemanticModel& model, Node user) {
  return model.value(object_of(user)).is(Type::kOptimizer) ||
         says_one_of(object_of(user).text(), {"optim", "sched"});
}

// The name to which the call's value is bound; invalid if it is used directly.
Node bound_to(Node call) {
  Node value = call;
  while (value.parent().is_any(Kind::kSubscript, Kind::kParenthesized)) value = value.parent();
  const Node parent = value.parent();
  return parent.is(Kind::kAssignment) && value.field() == Field::kRight ? parent.child(Field::kLeft)
                                                                        : Node{};
}

}  // namespace

bool holds_weights(const SemanticModel& model, Node call) {
  if (!takes_weights_only(call)) return false;
  const bool params = static_cast<bool>(entry_key(call));
  const Node target = bound_to(call);
  if (!target) {
    const Node user = call.parent().parent();
    return params || (call.parent().is(Kind::kArgumentList) &&
                      method_name(user) == "load_state_dict" && !is_optimizer(model, user));
  }
  if (!target.is(Kind::kIdentifier)) return false;
  if (params) return true;
  const auto reads = reads_of(model, target);
  // `state_dict.pop("fc.weight")` takes a weight; `state_dict["config"]` says that there is more.
  if (says_one_of(target.text(), {"state_dict", "weights"})) {
    return std::all_of(reads.begin(), reads.end(), [](Node read) {
      const Node key = entry_key(read);
      std::string text;
      return !key || !syntax::string_value(key, text) || text.find('.') != std::string::npos;
    });
  }
  if (!std::all_of(reads.begin(), reads.end(), takes_weights_only)) return false;
  return use_of_loaded(model, call) == LoadedUse::kStateDict;
}

namespace {

// Whether a class is a dataset, a transform or a graph, by its name or a base.
bool prepares_data(const SemanticModel& model, Node holder) {
  if (!holder) return false;
  const auto says = [](std::string_view name) {
    return name.ends_with("Dataset") || name.ends_with("Transform");
  };
  const semantics::ClassFacts* facts = model.class_facts(holder);
  const bool graph = holder.child(Field::kName).text().ends_with("Graph");
  if (graph && facts != nullptr && !facts->is_module) return true;
  return says(holder.child(Field::kName).text()) ||
         (facts != nullptr && std::any_of(facts->bases.begin(), facts->bases.end(), says));
}

// Whether the function around a load is one for data by its name: load_data(), read_dataset().
bool loads_data(Node load) {
  const Node function = syntax::function_of(load);
  if (!function.is(Kind::kFunction)) return false;
  const std::string name = base::lower(function.child(Field::kName).text());
  for (const std::string_view start : {"load_", "_load_", "read_", "get_"}) {
    if (!name.starts_with(start)) continue;
    const std::string_view what = std::string_view(name).substr(start.size());
    return what == "data" || what.starts_with("dataset") || what.starts_with("meta") ||
           what == "graph" || what == "graphs";
  }
  return false;
}

// Whether a value is used as a NumPy array here, which only works on the CPU: `x.numpy()`,
// `np.array(x)`, `x["content"].squeeze(0).numpy()`.
bool is_used_by_numpy(const SemanticModel& model, Node value) {
  Node parent = value.parent();
  // cpu() would say that it may be elsewhere.
  for (;; parent = value.parent()) {
    const bool method = parent.is(Kind::kAttribute) && parent.field() == Field::kFunctionPart &&
                        parent.child(Field::kAttributeName).text() != "numpy" &&
                        parent.child(Field::kAttributeName).text() != "cpu" &&
                        parent.child(Field::kAttributeName).text() != "to";
    if (method)
      value = parent.parent();
    else if (parent.is(Kind::kSubscript) && value.field() == Field::kValue)
      value = parent;
    else
      break;
  }
  if (parent.is(Kind::kAttribute))
    return parent.child(Field::kAttributeName).text() == "numpy" &&
           parent.field() == Field::kFunctionPart;
  return parent.is(Kind::kArgumentList) && model.called(parent.parent()).starts_with("numpy.");
}

}  // namespace

bool holds_no_weights(const SemanticModel& model, Node call) {
  const Node target = bound_to(call);
  if (is_used_by_numpy(model, call)) return true;
  const std::string_view path = syntax::positional(call, 0).text();
  static constexpr auto kData = {"dataset",   "vocab",     "fields",   "statistics", "stats.",
                                 "data_file", "_stat",     "mnist",    "corpus",     "cache",
                                 "features",  "landmarks", "meta_file"};
  static constexpr auto kWeights = {"model", "weight", "ckpt", "checkpoint", "state_dict", "net"};
  const std::string said = std::string(path) + " " + std::string(target.text());
  const auto any = [&](const auto& words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) {
      return base::lower(said).find(word) != std::string::npos;
    });
  };
  if (any(kData) && !any(kWeights)) return true;
  if (prepares_data(model, syntax::class_of(call)) || (loads_data(call) && !any(kWeights)))
    return true;
  // Only numbers are ever taken out.
  if (!target.is(Kind::kIdentifier) || any(kWeights)) return false;
  const auto reads = reads_of(model, target);
  return !reads.empty() && std::all_of(reads.begin(), reads.end(), [](Node read) {
    std::string key;
    return syntax::string_value(entry_key(read), key) &&
           says_one_of(key, {"loss", "steps", "current_step", "metric_values", "patien", "anchor",
                             "hyperparam", "warmup", "cooldown", "base_lr", "power",
                             "initial_value", "iterations"});
  });
}

bool holds_numpy(const SemanticModel& model, Node call) {
  const auto is_array = [&](Node value) {
    while (value.parent().is(Kind::kSubscript) && value.field() == Field::kValue)
      value = value.parent();
    const Node parent = value.parent();
    if (parent.is(Kind::kAttribute))
      return parent.child(Field::kAttributeName).text() == "astype" &&
             parent.field() == Field::kFunctionPart;
    return parent.is(Kind::kArgumentList) && model.called(parent.parent()) == "torch.from_numpy";
  };
  const Node target = bound_to(call);
  if (!target.is(Kind::kIdentifier)) return is_array(call);
  const auto reads = reads_of(model, target);
  return std::any_of(reads.begin(), reads.end(), is_array);
}

}  // namespace torchport::rules
