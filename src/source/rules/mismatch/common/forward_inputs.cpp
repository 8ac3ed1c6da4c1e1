#include "source/rules/mismatch/common/forward_inputs.h"

#include <algorithm>

#include "source/rules/edits.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

constexpr int kMaxData = 3;  // names between a loader and its data

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

bool data_speaks_of_devices(const SemanticModel& model, Node data, int depth);

bool any_data_speaks(const SemanticModel& model, Node call, int depth) {
  const auto arguments = syntax::arguments(call);
  return std::any_of(arguments.begin(), arguments.end(), [&](const syntax::Argument& argument) {
    return argument.value.is_any(Kind::kIdentifier, Kind::kAttribute, Kind::kCall) &&
           data_speaks_of_devices(model, argument.value, depth + 1);
  });
}

// Whether the data of a loader may be on a device: `TensorDataset(x.to(device), y)`, a dataset that
// gets a device, or one that comes from outside of the file.
bool data_speaks_of_devices(const SemanticModel& model, Node data, int depth) {
  if (depth > kMaxData) return true;
  const ValueHistory trace = trace_value(model, data);
  if (depth == 0 && trace.open) return true;
  return std::any_of(trace.steps.begin(), trace.steps.end(), [&](Node step) {
    if (!step.is(Kind::kCall)) return false;
    if (speaks_of_devices(step)) return true;
    const semantics::ClassFacts* facts =
        object_of(step) ? nullptr : model.class_named(syntax::callee(step).text());
    return (facts != nullptr && speaks_of_devices(facts->node)) ||
           any_data_speaks(model, step, depth);
  });
}

// What a loop goes through below `enumerate` and a bar of progress.
Node looped(const SemanticModel& model, Node iterable) {
  iterable = syntax::unwrap(iterable);
  while (iterable.is(Kind::kCall)) {
    const std::string_view name = method_name(iterable);
    if (name != "enumerate" && name != "tqdm" && name != "iter" && name != "next") return iterable;
    if (object_of(iterable) && model.called(iterable).empty()) return iterable;
    iterable = syntax::unwrap(syntax::positional(iterable, 0));
  }
  return iterable;
}

struct DeviceManagers {
  explicit DeviceManagers(const SemanticModel& model) {
    const std::string& source = model.tree().source();
    for (const std::string_view word :
         {"set_default_device", "set_default_tensor_type", "with torch.device", "ccelerator",
          "fabric", "lightning", "deepspeed", "horovod", "device_map", "ignite"})
      any |= source.find(word) != std::string::npos;
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

bool has_device_manager(const SemanticModel& model) {
  return model.facts<DeviceManagers>().any;
}

bool yields_cpu_batches(const SemanticModel& model, Node iterable) {
  const ValueHistory trace = trace_value(model, looped(model, iterable));
  if (trace.open || trace.origins.empty()) return false;
  return std::all_of(trace.origins.begin(), trace.origins.end(), [&](Node origin) {
    if (!origin.is(Kind::kCall) || model.called(origin) != "torch.utils.data.DataLoader" ||
        syntax::has_splat(origin) || syntax::keyword(origin, "collate_fn"))
      return false;
    const Node data = syntax::argument(origin, 0, "dataset");
    return data && !data_speaks_of_devices(model, data, 0);
  });
}

}  // namespace torchport::rules
