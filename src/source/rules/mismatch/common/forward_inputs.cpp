#include "source/rules/mismatch/common/forward_inputs.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "source/rules/edits.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

constexpr int kMaxData = 5;     // names between a loader and its data
constexpr int kMaxLoaders = 8;  // bars of progress, and loaders, of one loop

// Whether the source of a node names a device or a move.
bool speaks_of_devices(Node node) {
  const std::string text = base::lower(node.text());
  for (const std::string_view word : {"cuda", "device", ".to(", "gpu", "type_as", "new_"}) {
    if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

bool is_plain_class(const SemanticModel& model, const semantics::ClassFacts& facts, int depth) {
  if (depth > kMaxData || !facts.is_module || speaks_of_devices(facts.node)) return false;
  return std::all_of(facts.bases.begin(), facts.bases.end(), [&](const std::string& base) {
    if (base.starts_with("torch.nn.")) return true;
    const semantics::ClassFacts* parent = model.class_named(base);
    return parent != nullptr && is_plain_class(model, *parent, depth + 1);
  });
}

// Whether every class of this file that a call names is plain, too: nn.Sequential(Own(), ...).
bool has_plain_parts(const SemanticModel& model, Node origin) {
  for (const Node call : model.nodes(Kind::kCall, origin)) {
    const std::string& name = model.called(call);
    if (name.starts_with("torch.nn.") || name.starts_with("torchvision.models.")) continue;
    const semantics::ClassFacts* facts =
        object_of(call) ? nullptr : model.class_named(syntax::callee(call).text());
    if (facts != nullptr && !is_plain_class(model, *facts, 0)) return false;
    if (facts == nullptr && call == origin) return false;
  }
  return true;
}

// The data that was split: `all` for `train` in `train, test = random_split(all, sizes)`.
Node before_split(const SemanticModel& model, Node data) {
  if (!data.is(Kind::kIdentifier)) return data;
  const auto bindings = model.scopes().reaching(data.text(), data);
  if (bindings.size() != 1 || !bindings.front()->unpacked ||
      bindings.front()->kind != semantics::BindingKind::kAssign)
    return data;
  const Node call = bindings.front()->value;
  const bool split = call.is(Kind::kCall) && model.called(call) == "torch.utils.data.random_split";
  return split ? syntax::argument(call, 0, "dataset") : data;
}

// What is asked about the data of a loader, and how.
class LoaderData {
 public:
  // `strict`: what the file does not show may be on a device.
  LoaderData(const SemanticModel& model, bool strict) : model_(model), strict_(strict) {}

  // Whether the data may be on a device: `TensorDataset(x.to(device), y)`, a dataset that gets a
  // device, or one that comes from outside of the file.
  [[nodiscard]] bool speaks_of_devices(Node data, int depth, bool tensors = false) const {
    if (depth > kMaxData) return strict_;
    const ValueHistory trace = trace_value(model_, before_split(model_, data));
    if ((depth == 0 || tensors) && trace.open && strict_) return true;
    return std::any_of(trace.steps.begin(), trace.steps.end(), [&](Node step) {
      if (!step.is(Kind::kCall)) return false;
      if (rules::speaks_of_devices(step)) return true;
      const semantics::ClassFacts* facts =
          object_of(step) ? nullptr : model_.class_named(syntax::callee(step).text());
      return (facts != nullptr && rules::speaks_of_devices(facts->node)) ||
             any_argument_speaks(step, depth);
    });
  }

  [[nodiscard]] bool any_argument_speaks(Node call, int depth) const {
    // The tensors themselves: where they are is not to be seen if they come from outside.
    const bool tensors = model_.called(call) == "torch.utils.data.TensorDataset";
    const auto arguments = syntax::arguments(call);
    return std::any_of(arguments.begin(), arguments.end(), [&](const syntax::Argument& argument) {
      return argument.value.is_any(Kind::kIdentifier, Kind::kAttribute, Kind::kCall) &&
             speaks_of_devices(argument.value, depth + 1, tensors);
    });
  }

 private:
  const SemanticModel& model_;
  bool strict_;
};

// Whether a collate function leaves the batches on the CPU: one of the file that speaks of no
// device, or one of torch or transformers.
bool is_plain_collate(const SemanticModel& model, Node collate) {
  if (collate.is(Kind::kNone)) return true;
  if (collate.is(Kind::kLambda)) return !speaks_of_devices(collate);
  const std::string& name =
      model.qualified(collate.is(Kind::kCall) ? syntax::callee(collate) : collate);
  if (name.starts_with("torch.") || name.starts_with("transformers.")) return true;
  const Node function =
      collate.is(Kind::kIdentifier) ? model.function_named(collate.text(), collate) : Node{};
  return function && !speaks_of_devices(function);
}

// Whether a call of a loader may set a collate function that moves batches: by its name, or with
// `**options` that the file does not show.
bool may_have_collate(const SemanticModel& model, Node call) {
  const Node collate = syntax::keyword(call, "collate_fn");
  if (collate && !is_plain_collate(model, collate)) return true;
  if (!syntax::has_splat(call)) return false;
  const auto arguments = syntax::arguments(call);
  return std::any_of(arguments.begin(), arguments.end(), [&](const syntax::Argument& argument) {
    if (argument.keyword != "**") return argument.keyword == "*";
    const Node value = argument.value;
    const Node options = value.is(Kind::kDictionarySplat) ? value.first_child() : value;
    const ValueHistory trace = trace_value(model, options);
    return trace.open || std::any_of(trace.origins.begin(), trace.origins.end(), [](Node origin) {
             const bool plain = origin.is(Kind::kDictionary) ||
                                (origin.is(Kind::kCall) && syntax::callee(origin).text() == "dict");
             return !plain || origin.text().find("collate") != std::string_view::npos ||
                    origin.text().find("**") != std::string_view::npos;
           });
  });
}

// Whether a call hands on the batches of its first argument: `enumerate`, a bar of progress.
bool hands_on_batches(const SemanticModel& model, Node call) {
  const std::string_view name = method_name(call);
  if (name != "enumerate" && name != "tqdm" && name != "iter" && name != "next" && name != "track")
    return false;
  return !object_of(call) || !model.called(call).empty();
}

// Where the batches of a loop come from, below `enumerate` and bars of progress, which may have
// names of their own: `bar = tqdm(loader)`.
ValueHistory loaders_of(const SemanticModel& model, Node iterable) {
  ValueHistory result;
  std::vector<Node> work{iterable};
  for (int steps = 0; !work.empty() && steps < kMaxLoaders; ++steps) {
    const ValueHistory trace = trace_value(model, work.back());
    work.pop_back();
    result.open |= trace.open;
    for (const Node origin : trace.origins) {
      if (origin.is(Kind::kCall) && hands_on_batches(model, origin))
        work.push_back(syntax::positional(origin, 0));
      else
        result.origins.push_back(origin);
    }
  }
  result.open |= !work.empty();
  return result;
}

// Whether a function or class of the file that is called there speaks of devices.
bool callee_speaks(const SemanticModel& model, Node callee) {
  if (!callee.is(Kind::kIdentifier)) return false;
  if (const Node function = model.function_named(callee.text(), callee))
    return speaks_of_devices(function);
  const semantics::ClassFacts* facts = model.class_named(callee.text());
  return facts != nullptr && speaks_of_devices(facts->node);
}

bool may_be_cpu_loader(const SemanticModel& model, Node origin) {
  if (origin.is_any(Kind::kIdentifier, Kind::kAttribute, Kind::kNone)) return true;
  // loaders["train"]
  if (origin.is(Kind::kSubscript))
    return base::lower(origin.text()).find("loader") != std::string::npos;
  if (!origin.is(Kind::kCall) || speaks_of_devices(origin)) return false;
  const Node callee = syntax::callee(origin);
  const std::string& name = model.called(origin);
  if (name == "torch.utils.data.DataLoader") {
    const Node data = syntax::argument(origin, 0, "dataset");
    const Node collate = syntax::keyword(origin, "collate_fn");
    const LoaderData loose(model, false);
    return !loose.any_argument_speaks(origin, 1) && !callee_speaks(model, collate) &&
           !(data && loose.speaks_of_devices(data, 1));
  }
  if (object_of(origin) && name.empty()) {
    const std::string lower = base::lower(method_name(origin));
    return lower.find("loader") != std::string::npos;
  }
  const bool builtin = callee.is(Kind::kIdentifier) && name.empty() &&
                       model.scopes().reaching(callee.text(), callee).empty();
  return !builtin && !callee_speaks(model, callee);
}

// Parameters, and layers of torch that have some.
bool is_layer_with_state(std::string_view qualified) {
  static constexpr std::array<std::string_view, 12> kLayers{
      "torch.nn.Parameter",   "torch.nn.Linear",      "torch.nn.Conv1d",
      "torch.nn.Conv2d",      "torch.nn.Conv3d",      "torch.nn.Embedding",
      "torch.nn.BatchNorm1d", "torch.nn.BatchNorm2d", "torch.nn.LayerNorm",
      "torch.nn.LSTM",        "torch.nn.GRU",         "torch.nn.ConvTranspose2d"};
  return base::one_of(kLayers, qualified);
}

// Whether an object or a setting that moves models and batches is used here. Words of comments, of
// strings and of `torch.accelerator` say nothing.
struct DeviceManagers {
  explicit DeviceManagers(const SemanticModel& model)
      : any(imports_one(model) || names_one(model) || enters_device(model)) {}

  static bool imports_one(const SemanticModel& model) {
    static constexpr std::array<std::string_view, 9> kLibraries{
        "accelerate",       "deepspeed",           "horovod",           "ignite",    "lightning",
        "lightning_fabric", "lightning_utilities", "pytorch_lightning", "colossalai"};
    return std::any_of(kLibraries.begin(), kLibraries.end(),
                       [&](std::string_view library) { return model.imports(library); });
  }

  static bool names_one(const SemanticModel& model) {
    for (const std::string_view name :
         {"set_default_device", "set_default_tensor_type", "device_map", "fabric", "Fabric",
          "deepspeed", "horovod", "Accelerator", "accelerator"}) {
      const auto uses = model.named(name);
      if (std::any_of(uses.begin(), uses.end(), [&](Node use) {
            const Node whole = use.field() == Field::kAttributeName ? use.parent() : use;
            return !model.qualified(whole).starts_with("torch.accelerator");
          }))
        return true;
    }
    return false;
  }

  // `with torch.device("cuda"):`, or a name of a device.
  static bool enters_device(const SemanticModel& model) {
    const auto items = model.nodes(Kind::kWithItem);
    return std::any_of(items.begin(), items.end(), [&](Node item) {
      Node entered = syntax::unwrap(item.first_child());
      if (entered.is(Kind::kAsPattern)) entered = entered.first_child();
      return model.value(entered).is(Type::kDevice);
    });
  }

  bool any = false;
};

}  // namespace

bool keeps_inputs(const SemanticModel& model, const ValueHistory& trace) {
  return !trace.origins.empty() &&
         std::all_of(trace.origins.begin(), trace.origins.end(), [&](Node origin) {
           return origin.is(Kind::kCall) && !is_parallel_wrapper(model.called(origin)) &&
                  has_plain_parts(model, origin);
         });
}

bool keeps_state(const SemanticModel& model, const semantics::ClassFacts& facts) {
  for (const std::string_view word : {"cuda", "device", "to", "type_as"})
    if (!model.named(word, facts.node).empty()) return false;
  const auto calls = model.nodes(Kind::kCall, facts.node);
  return std::any_of(calls.begin(), calls.end(), [&](Node call) {
    const std::string& name = model.called(call);
    return is_layer_with_state(name) || name.starts_with("torchvision.models.") ||
           method_name(call) == "register_buffer" || method_name(call) == "register_parameter";
  });
}

bool has_state(const SemanticModel& model, const ValueHistory& trace) {
  return !trace.open && !trace.origins.empty() &&
         std::all_of(trace.origins.begin(), trace.origins.end(), [&](Node origin) {
           const std::string& name = model.called(origin);
           if (name.starts_with("torchvision.models.")) return true;
           if (name == "torch.nn.Sequential") {
             const auto calls = model.nodes(Kind::kCall, origin);
             return std::any_of(calls.begin(), calls.end(),
                                [&](Node call) { return is_layer_with_state(model.called(call)); });
           }
           const semantics::ClassFacts* facts =
               object_of(origin) ? nullptr : model.class_named(syntax::callee(origin).text());
           return is_layer_with_state(name) || (facts != nullptr && keeps_state(model, *facts));
         });
}

bool leaves_in_place(Node read) {
  const Node parent = read.parent();
  if (parent.is(Kind::kCall)) return true;
  if (!parent.is(Kind::kAttribute)) return false;
  for (const std::string_view name :
       {"parameters", "named_parameters", "train", "eval", "state_dict", "load_state_dict"})
    if (parent.child(Field::kAttributeName).text() == name) return true;
  return false;
}

bool has_device_manager(const SemanticModel& model) {
  return model.facts<DeviceManagers>().any;
}

bool yields_cpu_batches(const SemanticModel& model, Node iterable) {
  const ValueHistory trace = loaders_of(model, iterable);
  if (trace.open || trace.origins.empty()) return false;
  return std::all_of(trace.origins.begin(), trace.origins.end(), [&](Node origin) {
    if (!origin.is(Kind::kCall) || model.called(origin) != "torch.utils.data.DataLoader" ||
        may_have_collate(model, origin))
      return false;
    const Node data = syntax::argument(origin, 0, "dataset");
    return data && !LoaderData(model, true).speaks_of_devices(data, 0);
  });
}

bool may_yield_cpu_batches(const SemanticModel& model, Node iterable) {
  const ValueHistory trace = loaders_of(model, iterable);
  return (trace.open || !trace.origins.empty()) &&
         std::all_of(trace.origins.begin(), trace.origins.end(),
                     [&](Node origin) { return may_be_cpu_loader(model, origin); });
}

}  // namespace torchport::rules
