// TP301: torch.load and similar functions without map_location.
#include "source/rules/rule.h"

#include <fmt/format.h>

#include "source/flow/saved_files.h"
#include "source/rules/edits.h"
#include "source/rules/load/common/loading.h"
#include "source/rules/tensors.h"
#include "source/semantics/guards.h"

namespace torchport::rules::load_without_map_location {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP301",
    .name = "load-without-map-location",
    .family = "load",
    .severity = Severity::kError,
    .summary = "a checkpoint is loaded onto the device that it was saved from",
    .void_with_cuda = true,
};

// Whether these are torchvision's own weights, which were saved from the CPU.
bool is_official_url(const SemanticModel& model, Node source) {
  constexpr std::string_view kHost = "download.pytorch.org/";
  if (const auto url = model.constant_string(source)) return url->find(kHost) != std::string::npos;
  if (!source.is(Kind::kSubscript) || !source.child(Field::kValue).is(Kind::kIdentifier))
    return false;
  const Node table = source.child(Field::kValue);
  for (const semantics::Binding* binding : model.scopes().all(table.text(), table)) {
    const std::string_view text = binding->value.text();
    if (!binding->value.is(Kind::kDictionary) || text.find("://") == std::string_view::npos)
      return false;
    for (auto at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
      if (!text.substr(at + 3).starts_with(kHost)) return false;
    }
    return true;
  }
  return false;
}

struct Location {
  std::string text;
  bool typed = false;  // certainly something that map_location takes
  bool module_device = false;
};

// Whether the device in scope is known to be a device or a device string: map_location accepts
// neither an index nor "".
bool is_typed_device(const SemanticModel& model, Node at, const std::string& text) {
  if (text.starts_with("self.")) {
    const semantics::ClassFacts* facts = model.enclosing_class(at);
    const auto found = facts->attributes.find(std::string_view(text).substr(5));
    return found != facts->attributes.end() && found->second.size() == 1 &&
           model.value(found->second.front().value).is(Type::kDevice);
  }
  const auto bindings = model.scopes().reaching(text, at);
  if (bindings.size() != 1) return false;
  if (bindings.front()->kind == semantics::BindingKind::kParameter) {
    return model.qualified(bindings.front()->annotation.first_child()) == "torch.device";
  }
  return bindings.front()->kind == semantics::BindingKind::kAssign &&
         model.value(bindings.front()->value).is(Type::kDevice);
}

// Whether the file creates a device from `args.device` or moves modules with it, so that it names a
// device. Otherwise it may be an index.
bool is_used_as_device(const SemanticModel& model, const std::string& text) {
  const std::string& source = model.tree().source();
  return source.find(fmt::format(".to({})", text)) != std::string::npos ||
         source.find(fmt::format("device={}", text)) != std::string::npos;
}

Location choose_location(const PythonContext& context, Node call, LoadedUse use) {
  const SemanticModel& model = context.model;
  const edit::DeviceRef found = context.devices.in_scope(call);
  if (!found.text.empty() && found.text.find('(') == std::string::npos) {
    const bool dotted = found.text.find('.') != std::string::npos;
    if (found.certain || is_typed_device(model, call, found.text)) return {found.text, true, false};
    if (!dotted || found.text.starts_with("self.") || is_used_as_device(model, found.text))
      return {found.text, false, false};
  }
  if (use == LoadedUse::kModel) {
    const edit::DeviceRef device = context.devices.at(call);
    return {device.text, true, device.module_device};
  }
  return {quoted(model, "cpu"), true, false};
}

Fix make_fix(const PythonContext& context, Node call, Node present) {
  const LoadedUse use = use_of_loaded(context.model, call);
  const Location location = choose_location(context, call, use);
  Fix fix;
  fix.needs.module_device = location.module_device;
  fix.applicability = use == LoadedUse::kStateDict && location.typed ? Applicability::kSafe
                                                                     : Applicability::kUnsafe;
  fix.title = fmt::format("load with map_location={}", location.text);
  if (present)
    fix.edits = {replace(present, location.text)};
  else
    fix.edits = {add_argument(call, fmt::format("map_location={}", location.text))};
  return fix;
}

// Whether the program unpickles by a class of its own, which decides where tensors go.
bool unpickles_itself(const SemanticModel& model, Node call) {
  const Node module = syntax::argument(call, 2, "pickle_module");
  const std::string& name = model.qualified(module);
  const bool known = !name.empty() || (module && model.class_named(module.text()) != nullptr);
  return known && name != "pickle" && name != "dill";
}

// Whether a load that fails is repeated: `try: torch.load(f)`, `except RuntimeError: torch.load(f,
// map_location="cpu")`.
bool is_repeated(const SemanticModel& model, Node call) {
  for (Node up = call; up && !up.is_any(Kind::kFunction, Kind::kModule); up = up.parent()) {
    const Node attempt = up.parent();
    if (!attempt.is(Kind::kTry) || up.field() != Field::kBody) continue;
    for (Node part = attempt.first_child(); part; part = part.next_sibling()) {
      if (!part.is(Kind::kExcept)) continue;
      for (const Node again : model.nodes(Kind::kCall, part))
        if (model.called(again) == model.called(call) && syntax::keyword(again, "map_location"))
          return true;
    }
  }
  return false;
}

// Whether what is loaded is taken by something that refuses what is not on the CPU:
// `torch.FloatTensor(torch.load(f))`.
bool has_to_be_on_cpu(const SemanticModel& model, Node call) {
  const Node taker = call.parent().is(Kind::kArgumentList) ? call.parent().parent() : Node{};
  const std::string& name = model.called(taker);
  return name.starts_with("torch.") && name.ends_with("Tensor") && name != "torch.as_tensor" &&
         !name.starts_with("torch.cuda.");
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const std::string& name = model.called(call);
  const auto position = map_location_position(name);
  if (!position || syntax::has_splat(call)) return;
  // A test loads what it saved.
  if (*position == 1 && context.is_test() && syntax::function_of(call) && !context.settings.strict)
    return;
  const Node present = syntax::argument(call, *position, "map_location");
  if (present && !present.is(Kind::kNone)) return;
  if (*position == 2 && is_official_url(model, syntax::argument(call, 0, "url"))) return;
  if (semantics::is_cuda_guarded(model, call) || reads_own_output(model, call) ||
      is_scheduler_state(model, call) || holds_no_weights(model, call) ||
      is_repeated(model, call) || has_to_be_on_cpu(model, call) ||
      (*position == 1 && name != "torch.jit.load" && unpickles_itself(model, call)))
    return;
  Finding& finding = reporter.report(
      syntax::callee(call),
      name == "torch.jit.load"
          ? "A TorchScript file brings its weights to the device that it was saved from: "
            "if that was CUDA, this raises on a machine without it."
          : "A checkpoint that was saved from CUDA raises \"Attempting to deserialize "
            "object on a CUDA device\" on a machine without CUDA.");
  if (auto writers = writers_before(model, call); !writers.empty())
    finding.unless.push_back({flow::Condition::Kind::kWritten, {}, std::move(writers)});
  if (std::string path = flow::literal_end(model, syntax::argument(call, 0, "f")); !path.empty())
    finding.unless.push_back({flow::Condition::Kind::kSavedFromCpu, std::move(path), {}});
  finding.fix.push_back(make_fix(context, call, present));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::load_without_map_location
