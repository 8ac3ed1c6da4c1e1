// TP208: a dataset or a collate function that puts tensors on a device.
#include "source/rules/rule.h"

#include <algorithm>

#include "source/rules/edits.h"
#include "source/rules/tensors.h"
#include "source/rules/value_history.h"

namespace torchport::rules::device_tensor_in_dataset {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP208",
    .name = "device-tensor-in-dataset",
    .family = "mismatch",
    .severity = Severity::kWarning,
    .summary = "a dataset or a collate function puts tensors on a device",
    .on_accelerators = true,
};

constexpr int kMaxDefaults = 2;  // of parameters that a device comes from: device=device is its own

bool is_dataset_base(const std::string& base) {
  return base == "torch.utils.data.Dataset" || base == "torch.utils.data.dataset.Dataset" ||
         base == "torch.utils.data.IterableDataset" ||
         base == "torch.utils.data.dataset.IterableDataset" ||
         base.starts_with("torchvision.datasets.");
}

bool is_dataset(const SemanticModel& model, const semantics::ClassFacts& facts, int depth = 0) {
  return std::any_of(facts.bases.begin(), facts.bases.end(), [&](const std::string& base) {
    const semantics::ClassFacts* parent = model.class_named(base);
    return is_dataset_base(base) || (parent != nullptr && parent->node != facts.node && depth < 4 &&
                                     is_dataset(model, *parent, depth + 1));
  });
}

// The DataLoaders of the file that run this code: those over the dataset of this class, or with
// this collate function.
std::vector<Node> loaders_of(const SemanticModel& model, std::string_view name, bool collates) {
  std::vector<Node> loaders;
  for (const Node call : model.calls_of("DataLoader")) {
    if (model.called(call) != "torch.utils.data.DataLoader") continue;
    const Node given =
        collates ? syntax::keyword(call, "collate_fn") : syntax::argument(call, 0, "dataset");
    if (!given) continue;
    const ValueHistory trace = trace_value(model, given);
    const bool uses = std::any_of(trace.steps.begin(), trace.steps.end(), [&](Node step) {
      const Node named = step.is(Kind::kCall) ? syntax::callee(step) : step;
      return named.text() == name ||
             (named.is(Kind::kAttribute) && named.child(Field::kAttributeName).text() == name);
    });
    if (uses) loaders.push_back(call);
  }
  return loaders;
}

// Whether a loader loads in the program's own process, where a device is no harm.
bool has_no_workers(Node loader) {
  const Node workers = syntax::argument(loader, 5, "num_workers");
  return !syntax::has_splat(loader) && (!workers || workers.text() == "0");
}

// The function that a worker of a DataLoader runs: __getitem__ or __iter__ of a dataset, or a
// function that a loader of this file collates with. Invalid if loaders are here and none has
// workers.
Node worker_function(const SemanticModel& model, Node node) {
  const Node function = syntax::function_of(node);
  if (!function.is(Kind::kFunction)) return {};
  const std::string_view name = function.child(Field::kName).text();
  const semantics::ClassFacts* facts = model.enclosing_class(function);
  const bool item = name == "__getitem__" || name == "__iter__";
  std::vector<Node> loaders;
  if (item) {
    if (facts == nullptr || !is_dataset(model, *facts)) return {};
    loaders = loaders_of(model, facts->name, false);
  } else {
    loaders = loaders_of(model, name, true);
    if (loaders.empty()) return {};
  }
  const bool harmless =
      !loaders.empty() && std::all_of(loaders.begin(), loaders.end(), has_no_workers);
  return harmless ? Node{} : function;
}

// The default of the parameter that a device comes from: of `device`, or of `self.device = device`.
Node parameter_default(const SemanticModel& model, Node device) {
  if (device.is(Kind::kAttribute)) {
    const semantics::ClassFacts* facts = model.enclosing_class(device);
    if (facts == nullptr || device.child(Field::kObject).text() != model.self_name(device))
      return {};
    const auto found = facts->attributes.find(device.child(Field::kAttributeName).text());
    if (found == facts->attributes.end() || found->second.size() != 1) return {};
    device = found->second.front().value;
  }
  if (!device.is(Kind::kIdentifier)) return {};
  const auto bindings = model.scopes().reaching(device.text(), device);
  const bool parameter =
      bindings.size() == 1 && bindings.front()->kind == semantics::BindingKind::kParameter;
  return parameter ? bindings.front()->value : Node{};
}

// Whether the expression is certainly an accelerator where there is one: "cuda", a name that is
// bound to `torch.device("cuda" if torch.cuda.is_available() else "cpu")`. What a caller passes is
// unknown.
bool names_accelerator(const SemanticModel& model, Node device, int depth = 0) {
  if (!device || depth > kMaxDefaults) return false;
  if (const Node standard = parameter_default(model, device))
    return names_accelerator(model, standard, depth + 1);
  const ValueHistory trace = trace_value(model, device);
  return !trace.open && !trace.origins.empty() &&
         std::all_of(trace.origins.begin(), trace.origins.end(), [&](Node origin) {
           std::string text;
           if (syntax::string_value(origin, text)) return semantics::is_cuda_string(text);
           return model.called(origin) == "torch.device" &&
                  origin.text().find("cuda") != std::string_view::npos;
         });
}

bool puts_on_device(const SemanticModel& model, Node call) {
  const std::string_view method = method_name(call);
  const std::string& name = model.called(call);
  if (name.empty() && method == "cuda") return object_of(call) && !syntax::has_splat(call);
  if (name.empty() && method == "to" && is_move(model, call))
    return names_accelerator(model, syntax::argument(call, 0, "device"));
  if (name.starts_with("torch.cuda.") && name.ends_with("Tensor")) return true;
  return semantics::is_factory(name) && names_accelerator(model, syntax::keyword(call, "device"));
}

// Whether the result is brought back, or is a network's input: an embedding that is computed in the
// dataset needs the device.
bool computes_there(const SemanticModel& model, Node function) {
  for (const std::string_view method : {"cpu", "numpy", "item", "tolist"})
    if (!model.calls_of(method, function).empty()) return true;
  for (const std::string_view word : {"no_grad", "inference_mode", "model", "encoder", "net"})
    if (!model.named(word, function).empty()) return true;
  return false;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  if (context.is_test() || !puts_on_device(model, call)) return;
  const Node function = worker_function(model, call);
  if (!function || computes_there(model, function)) return;
  // Once a function: what it puts on a device fails together.
  for (const Node earlier : model.nodes(Kind::kCall, function)) {
    if (earlier == call) break;
    if (earlier.start() < call.start() && puts_on_device(model, earlier)) return;
  }
  const bool moves = object_of(call) && model.called(call).empty();
  Finding& finding =
      reporter.report(moves ? base::Span{object_of(call).end() + 1, call.end()} : call.span(),
                      "A worker of a DataLoader runs this. With num_workers > 0 it raises \"Cannot "
                      "re-initialize CUDA "
                      "in forked subprocess\", and pin_memory refuses what is on a device.");
  Fix fix;
  fix.title = "return tensors on the CPU, and move each batch in the loop over the loader";
  finding.fix.push_back(std::move(fix));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::device_tensor_in_dataset
