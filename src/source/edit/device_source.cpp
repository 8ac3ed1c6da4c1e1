#include "source/edit/device_source.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "source/edit/imports.h"
#include "source/edit/stand_alone.h"
#include "source/edit/trial.h"
#include "source/semantics/other_kinds.h"
#include "source/semantics/visible_devices.h"

namespace torchport::edit {

namespace {

using semantics::Binding;
using semantics::BindingKind;
using semantics::DeviceState;
using semantics::Type;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

bool is_device_name(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames{
      "device", "dev", "DEVICE", "_device", "torch_device", "DEV", "_DEVICE", "TORCH_DEVICE"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Whether an expression is the index of a device.
bool is_index(const semantics::SemanticModel& model, Node value) {
  return model.called(value) == "torch.cuda.current_device" || model.value(value).is(Type::kNumber);
}

bool may_be_device(const semantics::Value& value) {
  if (value.is(Type::kString) && !value.text.empty())
    return semantics::is_device_string(value.text);
  return value.is(Type::kUnknown) || value.is(Type::kDevice) || value.is(Type::kString);
}

// Whether a value is a device that was chosen by looking for an accelerator.
bool follows_accelerator(const semantics::SemanticModel& model, Node value) {
  if (!value) return false;
  // Where the program chooses the current device, "cuda:0" is another one than `.cuda()` takes.
  if (value.text().find("cuda:") != std::string_view::npos && !model.calls_of("set_device").empty())
    return false;
  return asks_for_accelerator(value.text()) ||
         model.value(value).device_state == DeviceState::kCuda;
}

}  // namespace

bool asks_for_accelerator(std::string_view text) {
  return text.find("is_available()") != std::string_view::npos ||
         text.find("current_accelerator") != std::string_view::npos;
}

DeviceSource::DeviceSource(const semantics::SemanticModel& model, const Settings& settings)
    : model_(model),
      settings_(settings),
      torch_(model),
      only_cuda_(settings.only_cuda || semantics::cuda_or_cpu(model).keeps ||
                 (!settings.extends_choices && semantics::cuda_or_cpu(model).chooses)) {
  const Node root = model.tree().root();
  for (const Kind kind : {Kind::kImport, Kind::kImportFrom})
    for (const Node statement : model.nodes(kind))
      if (statement.parent() == root) imports_.insert(statement.text());
  place_ = end_of_imports(model.tree());
  if (Node statement = torch_.statement) {
    while (statement.parent() != root) statement = statement.parent();
    const base::Span place = place_after(model.tree(), statement);
    if (place.end > place_.end) place_ = place;
  }
  // CUDA reads the variable once, so that the device is asked for behind the line that sets it.
  if (const Node setting = semantics::last_setting_on_import(model)) {
    sets_visible_ = true;
    if (setting.start() >= place_.start) place_ = place_after(model.tree(), setting);
  }
  for (const Node name : model.named("device")) {
    const Node node = name.parent();
    if (node.is(Kind::kAttribute) && name.field() == Field::kAttributeName)
      device_attributes_.try_emplace(node.text(), node.start());
  }
  find_variable();
}

void DeviceSource::find_variable() {
  const SharedDevice& shared = settings_.shared;
  // A function of the file's own may have the name of the shared one.
  const auto& same = model_.scopes().module_level(shared.name);
  shares_ = !shared.name.empty() && !sets_visible_ && !settings_.private_variable &&
            (!shared.function || same.empty() ||
             (same.size() == 1 && is_import_of_shared(*same.front())));
  std::vector<std::string_view> names{"DEVICE", "TORCH_DEVICE", "_TORCH_DEVICE"};
  if (!shared.name.empty() && !shared.function) names.insert(names.begin(), shared.name);
  const std::string helper = settings_.helper.substr(settings_.helper.find(':') + 1);
  const auto is_helper = [&](std::string_view text) {
    return (shares_ && shared.function && text == shared.name + "()") ||
           (uses_helper() && text == helper + "()");
  };
  for (const std::string_view name : names) {
    variable_ = std::string(name);
    const auto& bindings = model_.scopes().module_level(name);
    if (bindings.size() == 1 && is_shared(*bindings.front())) {
      variable_defined_ = true;
      variable_imported_ = true;
      variable_end_ = syntax::statement_of(bindings.front()->target).end();
      break;
    }
    if (bindings.size() == 1 && bindings.front()->kind == BindingKind::kAssign &&
        !statement_of_trial(bindings.front()->target) &&
        (follows_accelerator(model_, bindings.front()->value) ||
         is_helper(bindings.front()->value.text()))) {
      variable_defined_ = true;
      variable_imported_ = is_helper(bindings.front()->value.text());
      variable_end_ = syntax::statement_of(bindings.front()->target).end();
      break;
    }
    const bool suits = !settings_.private_variable || name.starts_with('_');
    if (suits && !model_.scopes().is_bound_anywhere(name)) return;
  }
  // The project uses all of them for something else.
  for (int number = 2; !variable_defined_ && model_.scopes().is_bound_anywhere(variable_); ++number)
    variable_ = fmt::format("_TORCH_DEVICE_{}", number);
}

bool DeviceSource::is_import_of_shared(const Binding& binding) const {
  const SharedDevice& shared = settings_.shared;
  if (shared.name.empty() || binding.kind != BindingKind::kImport) return false;
  // `from . import NAME` is known as ".NAME".
  const std::string_view between = shared.module.ends_with('.') ? "" : ".";
  return binding.qualified == fmt::format("{}{}{}", shared.module, between, shared.name);
}

bool DeviceSource::is_shared(const Binding& binding) const {
  return !settings_.shared.function && is_import_of_shared(binding);
}

bool DeviceSource::shares_variable() const {
  return variable_imported_ || (!variable_defined_ && shares_);
}

const std::vector<const Binding*>& DeviceSource::device_bindings(Node scope) const {
  const auto [entry, fresh] = device_bindings_.try_emplace(scope.index());
  if (fresh) {
    for (const Binding* binding : model_.scopes().of_scope(scope)) {
      if (is_device_name(binding->name)) entry->second.push_back(binding);
    }
  }
  return entry->second;
}

DeviceRef DeviceSource::local(Node node) const {
  const auto& scopes = model_.scopes();
  const bool compiled = model_.facts<StandAlone>().is_compiled(node.start());
  for (Node scope = scopes.scope_node(node);; scope = scopes.scope_node(scope)) {
    const bool own = scope == scopes.scope_node(node);
    if (!scope.is(Kind::kClass) && !(compiled && scope.is(Kind::kModule))) {
      for (const Binding* binding : device_bindings(scope)) {
        if (binding->unpacked || is_index(model_, binding->value)) continue;
        if (binding->kind != BindingKind::kAssign && binding->kind != BindingKind::kParameter &&
            binding->kind != BindingKind::kImport)
          continue;
        // A function may use a module-level name that is defined further down; otherwise the
        // definition has to come first.
        const bool before = binding->target.end() <= syntax::statement_of(node).start() &&
                            syntax::statement_of(binding->target).parent().holds(node);
        const bool parameter = binding->kind == BindingKind::kParameter;
        const bool module_name = scope.is(Kind::kModule) && !own &&
                                 syntax::statement_of(binding->target).parent() == scope;
        if (!parameter && !before && !module_name) continue;
        if (parameter && binding->value.is_any(Kind::kNone, Kind::kInteger)) continue;
        // The name must refer to this binding here, and not to a nearer one.
        const auto seen = scopes.reaching(binding->name, node);
        if (std::find(seen.begin(), seen.end(), binding) == seen.end()) continue;
        if (is_shared(*binding)) return {std::string(binding->name), false, true, true};
        const semantics::Value value = binding->kind == BindingKind::kAssign
                                           ? model_.value(binding->value)
                                           : semantics::Value{};
        if (!may_be_device(value) || value.device_state == DeviceState::kCpu ||
            (value.is(Type::kString) && value.text == "cpu"))
          continue;
        return {std::string(binding->name), false,
                seen.size() == 1 && binding->kind == BindingKind::kAssign &&
                    follows_accelerator(model_, binding->value)};
      }
    }
    if (scope.is(Kind::kModule)) return {};
  }
}

namespace {

// Whether a class reads a `self.device` that it does not set: a base in another file does.
bool reads_inherited_device(const semantics::SemanticModel& model,
                            const semantics::ClassFacts& facts, std::string_view self) {
  if (facts.bases.empty() || facts.attributes.contains("device")) return false;
  const auto names = model.named("device", facts.node);
  return std::any_of(names.begin(), names.end(), [&](Node name) {
    const Node read = name.parent();
    return name.field() == Field::kAttributeName && read.child(Field::kObject).text() == self &&
           read.field() != Field::kFunctionPart;
  });
}

}  // namespace

DeviceRef DeviceSource::of_self(Node node) const {
  const std::string_view self = model_.self_name(node);
  const semantics::ClassFacts* facts = model_.enclosing_class(node);
  if (self.empty() || facts == nullptr) return {};
  const bool property = facts->methods.contains("device");
  bool inherited = false;
  for (const std::string& base : facts->bases) {
    inherited |= base.ends_with("LightningModule") || base.ends_with("PreTrainedModel");
  }
  for (const std::string_view name : {"device", "_device"}) {
    const auto attribute = facts->attributes.find(name);
    if (attribute == facts->attributes.end()) continue;
    const auto& first = attribute->second.front();
    const bool same_function = first.function == syntax::function_of(node);
    if (same_function && first.target.start() >= syntax::statement_of(node).start()) return {};
    // A condition above may leave the attribute unset.
    const bool alone = same_function && attribute->second.size() == 1;
    if (alone && !syntax::statement_of(first.target).parent().holds(node)) return {};
    // `self.device = torch.device("cpu")`, then another one under a condition.
    const auto may_replace = [&](const auto& other) {
      const bool later = other.function == syntax::function_of(node) &&
                         other.target.start() >= syntax::statement_of(node).start();
      const semantics::Value value = model_.value(other.value);
      return !later && may_be_device(value) && value.device_state != DeviceState::kCpu &&
             !(value.is(Type::kString) && value.text == "cpu");
    };
    const semantics::Value value = model_.value(first.value);
    if (!may_be_device(value) ||
        (value.device_state == DeviceState::kCpu &&
         std::none_of(attribute->second.begin(), attribute->second.end(), may_replace)))
      continue;
    return {fmt::format("{}.{}", self, name), false,
            attribute->second.size() == 1 && follows_accelerator(model_, first.value)};
  }
  const Node method = syntax::function_of(node);
  const bool in_init = method.child(Field::kName).text() == "__init__";
  inherited = inherited || reads_inherited_device(model_, *facts, self);
  if ((property && method.child(Field::kName).text() != "device") || (inherited && !in_init)) {
    return {fmt::format("{}.device", self), false, false};
  }
  return {};
}

namespace {

// Whether a call moves a parameter of its own function: `x.float().cuda()`. The fix changes the
// device of that parameter, so it cannot take its device from it or from its neighbour.
bool moves_parameter(const semantics::SemanticModel& model, Node node) {
  Node root = node;
  while (root.is_any(Kind::kCall, Kind::kAttribute, Kind::kSubscript)) {
    root = root.is(Kind::kCall)        ? syntax::callee(root)
           : root.is(Kind::kAttribute) ? root.child(Field::kObject)
                                       : root.child(Field::kValue);
  }
  if (!root.is(Kind::kIdentifier)) return false;
  const auto bindings = model.scopes().reaching(root.text(), root);
  return !bindings.empty() && bindings.front()->kind == BindingKind::kParameter &&
         root.text() != model.self_name(node);
}

// How a name is used in a function: like a tensor, or like something else.
struct Usage {
  bool attribute = false;  // x.size(0), x.view(...)
  bool operand = false;    // x + 1, f(x)
  bool other = false;      // iterated, compared, x["key"]
};

Usage usage_of(const semantics::SemanticModel& model, Node function, const Binding& binding) {
  Usage usage;
  for (std::uint32_t i = function.index(); i < function.subtree_end(); ++i) {
    const Node use = model.tree().at(i);
    if (!use.is(Kind::kIdentifier) || use.text() != binding.name || use == binding.target) continue;
    const Node parent = use.parent();
    if (parent.is(Kind::kAttribute) && use.field() == Field::kObject) {
      const std::string_view attribute = parent.child(Field::kAttributeName).text();
      usage.attribute |= semantics::keeps_device(attribute) || attribute == "size" ||
                         attribute == "shape" || attribute == "device" || attribute == "dtype" ||
                         attribute == "dim";
    }
    usage.operand |= parent.is_any(Kind::kBinaryOperator, Kind::kArgumentList);
    usage.other |=
        (parent.is_any(Kind::kFor, Kind::kForIn) && use.field() == Field::kRight) ||
        parent.is(Kind::kComparison) ||
        (parent.is(Kind::kSubscript) && parent.child(Field::kSubscriptPart).is(Kind::kString));
  }
  return usage;
}

}  // namespace

DeviceRef DeviceSource::of_tensor_parameter(Node node) const {
  const Node function = syntax::function_of(node);
  if (!function.is(Kind::kFunction) || moves_parameter(model_, node)) return {};
  const std::string_view name = function.child(Field::kName).text();
  const semantics::ClassFacts* facts = model_.enclosing_class(function);
  const bool forward =
      facts != nullptr && facts->is_module && (name == "forward" || name.starts_with("forward_"));
  // In TorchScript a parameter without a type is a tensor.
  const bool compiled = model_.facts<StandAlone>().is_compiled(node.start());
  bool first = true;
  for (const Binding* binding : model_.scopes().of_scope(function)) {
    if (binding->kind != BindingKind::kParameter || binding->unpacked || binding->value) continue;
    if (binding->name == "self" || binding->name == "cls") continue;
    const bool leading = std::exchange(first, false);
    const std::string& hint = model_.qualified(binding->annotation.first_child());
    const bool typed_tensor = hint == "torch.Tensor";
    if (!typed_tensor && !((forward || compiled) && !binding->annotation)) continue;
    // Rebinding the name (`x = x.cuda()`) would make x.device mean something else.
    const auto seen = model_.scopes().reaching(binding->name, node);
    if (seen.size() != 1 || seen.front() != binding) continue;
    if (!typed_tensor) {
      // The input of a forward() is a tensor if it is used like one. Operators and calls alone are
      // evidence only for the first parameter.
      const Usage usage = usage_of(model_, function, *binding);
      if (usage.other || !(usage.attribute || (leading && usage.operand))) continue;
    }
    return {fmt::format("{}.device", binding->name), false, false};
  }
  return {};
}

namespace {

// Whether a name is only bound where the file is the program, and the function around a node, which
// other programs may call, does not use it.
bool is_of_other_program(const semantics::SemanticModel& model, const Binding& binding, Node node) {
  const Node function = syntax::function_of(node);
  return function && model.named(binding.name, function).empty() &&
         semantics::in_main_block(binding.target);
}

}  // namespace

DeviceRef DeviceSource::of_arguments(Node node) const {
  for (const std::string_view holder : {"args", "opt", "opts", "cfg", "config", "accelerator",
                                        "self.args", "self.opt", "self.cfg"}) {
    const std::string_view root = holder.starts_with("self.") ? std::string_view("self") : holder;
    const auto bindings = model_.scopes().reaching(root, node);
    if (bindings.empty() ||
        (bindings.front()->target.start() > node.start() &&
         model_.scopes().scope_node(node).is(Kind::kModule)) ||
        is_of_other_program(model_, *bindings.front(), node))
      continue;
    const std::string wanted = fmt::format("{}.device", holder);
    const bool accelerator =
        holder == "accelerator" && model_.called(bindings.front()->value).ends_with("Accelerator");
    // A function may run after anything at module level, so any use will do.
    const auto use = device_attributes_.find(wanted);
    const bool used = accelerator || (use != device_attributes_.end() &&
                                      (use->second < node.start() || syntax::function_of(node)));
    if (used) return {wanted, false, accelerator};
  }
  return {};
}

DeviceRef DeviceSource::of_helper(Node node) const {
  for (const std::string_view name : kDeviceHelpers) {
    const auto& bindings = model_.scopes().module_level(name);
    if (bindings.size() != 1 || syntax::function_of(node).child(Field::kName).text() == name)
      continue;
    const Binding& binding = *bindings.front();
    if (binding.kind == BindingKind::kImport &&
        binding.qualified.find("torch.") == std::string::npos) {
      return {fmt::format("{}()", name), false, false};
    }
    if (binding.kind != BindingKind::kFunction) continue;
    bool required = false;
    for (const Binding* parameter : model_.scopes().of_scope(binding.value)) {
      required |=
          parameter->kind == BindingKind::kParameter && !parameter->value && !parameter->unpacked;
    }
    const bool defined = binding.value.end() < node.start() || syntax::function_of(node);
    if (!required && defined)
      return {fmt::format("{}()", name), false,
              follows_accelerator(model_, binding.value.child(Field::kBody))};
  }
  return {};
}

DeviceRef DeviceSource::in_scope(Node node) const {
  if (model_.facts<StandAlone>().is_compiled(node.start())) {
    DeviceRef found = local(node);
    return found.text.empty() ? of_tensor_parameter(node) : found;
  }
  for (auto find :
       {&DeviceSource::local, &DeviceSource::of_self, &DeviceSource::of_tensor_parameter,
        &DeviceSource::of_arguments, &DeviceSource::of_helper}) {
    DeviceRef found = (this->*find)(node);
    if (!found.text.empty()) return found;
  }
  return {};
}

bool DeviceSource::has_torch_of_its_own(Node node) const {
  return !torch_.statement && is_torch_bound(model_, torch_.name, node);
}

std::uint32_t DeviceSource::variable_from() const {
  return variable_defined_ ? variable_end_ : insertion_point();
}

bool DeviceSource::can_have_variable() const {
  return variable_defined_ || !torch_.delayed || settings_.idiom == Idiom::kHelper;
}

DeviceRef DeviceSource::at(Node node) const {
  DeviceRef found = in_scope(node);
  if (!found.text.empty()) return found;
  // The author delays the import, so the module gets none.
  if (settings_.idiom != Idiom::kHelper && !variable_defined_ && has_torch_of_its_own(node)) {
    const std::string choice = inline_expression(false);
    return {uses_accelerator() ? fmt::format("({})", choice) : choice, false, true, true};
  }
  return {variable_, !variable_defined_, true, !variable_defined_ || variable_imported_};
}

}  // namespace torchport::edit
