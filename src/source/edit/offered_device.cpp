#include "source/edit/offered_device.h"

#include <array>

#include "source/edit/device_source.h"

namespace torchport::edit {

namespace {

using semantics::Binding;
using semantics::BindingKind;
using semantics::SemanticModel;
using semantics::Type;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

bool is_device(const SemanticModel& model, Node value) {
  value = syntax::unwrap(value);
  if (!value.is(Kind::kConditional)) return model.value(value).is(Type::kDevice);
  const auto parts = value.children();
  return parts.size() == 3 && is_device(model, parts[0]) && is_device(model, parts[2]);
}

bool is_offered_variable(const SemanticModel& model, const Binding& binding) {
  return binding.kind == BindingKind::kAssign && !binding.unpacked && binding.value &&
         asks_for_accelerator(binding.value.text()) &&
         (is_device(model, binding.value) ||
          binding.value.text().find("current_accelerator()") != std::string_view::npos);
}

bool is_offered_function(const SemanticModel& model, const Binding& binding) {
  if (binding.kind != BindingKind::kFunction || !binding.value.is(Kind::kFunction)) return false;
  for (const Binding* parameter : model.scopes().of_scope(binding.value)) {
    if (parameter->kind == BindingKind::kParameter && !parameter->value && !parameter->unpacked)
      return false;
  }
  const auto results = model.nodes(Kind::kReturn, binding.value);
  bool all = !binding.value.parent().is(Kind::kDecorated) &&
             asks_for_accelerator(binding.value.text()) &&
             model.nodes(Kind::kYield, binding.value).empty();
  bool any = false;
  for (const Node result : results) {
    any = true;
    all &= is_device(model, result.first_child());
  }
  return any && all;
}

bool is_of_package(std::string_view module, std::string_view package) {
  return module.starts_with('.') || module == package ||
         (module.starts_with(package) && module[package.size()] == '.');
}

}  // namespace

bool imports_package(const SemanticModel& model, std::string_view package) {
  const Node root = model.tree().root();
  for (const Kind kind : {Kind::kImport, Kind::kImportFrom}) {
    for (const Node node : model.nodes(kind)) {
      if (model.scopes().scope_node(node) != root) continue;
      if (kind == Kind::kImportFrom) {
        if (is_of_package(node.child(Field::kModuleName).text(), package)) return true;
        continue;
      }
      for (Node name = node.first_child(); name; name = name.next_sibling()) {
        const Node module = name.is(Kind::kAliasedImport) ? name.child(Field::kName) : name;
        if (is_of_package(module.text(), package)) return true;
      }
    }
  }
  return false;
}

std::optional<SharedDevice> offered_device(const SemanticModel& model, std::string_view package) {
  static constexpr std::array<std::string_view, 3> kVariables{"DEVICE", "TORCH_DEVICE",
                                                              "DEFAULT_DEVICE"};
  std::optional<SharedDevice> found;
  const auto look_for = [&](std::string_view name, auto is_offered, bool function) {
    const auto& bindings = model.scopes().module_level(name);
    if (!found && bindings.size() == 1 && is_offered(model, *bindings.front()))
      found = SharedDevice{{}, std::string(name), function};
  };
  for (const std::string_view name : kVariables) look_for(name, is_offered_variable, false);
  for (const std::string_view name : kDeviceHelpers) look_for(name, is_offered_function, true);
  if (found && imports_package(model, package)) found.reset();
  return found;
}

std::string device_module(const Settings& settings) {
  std::string text =
      "\"\"\"The device that the modules of this package run on.\"\"\"\n\nimport torch\n";
  const auto tree = syntax::Tree::parse(text);
  if (!tree) return text;
  Settings own = settings;
  own.shared = {};
  const SemanticModel model(*tree);
  const DeviceSource devices(model, own);
  return apply_edits(text, devices.edits_for({.imports = {}, .module_device = true}));
}

}  // namespace torchport::edit
