#include "source/rules/device_type.h"

#include <fmt/format.h>

namespace torchport::rules {

namespace {

// Whether the device expression is known to be a torch.device, which has `.type`.
bool is_device_object(const PythonContext& context, Node node, std::string_view text) {
  const SemanticModel& model = context.model;
  const auto dot = text.rfind('.');
  if (dot == std::string_view::npos) {
    const auto bindings = model.scopes().reaching(text, node);
    if (bindings.empty()) return false;
    for (const semantics::Binding* binding : bindings) {
      const bool assigned = binding->kind == semantics::BindingKind::kAssign && !binding->unpacked;
      const bool hinted = binding->kind == semantics::BindingKind::kParameter &&
                          model.qualified(binding->annotation.first_child()) == "torch.device";
      if (!hinted && !(assigned && model.value(binding->value).is(Type::kDevice)) &&
          !(assigned &&
            binding->value.text().find("current_accelerator()") != std::string_view::npos)) {
        return false;
      }
    }
    return true;
  }
  const std::string_view object = text.substr(0, dot);
  if (object.ends_with("accelerator")) return true;
  if (object == model.self_name(node)) {
    const semantics::ClassFacts* facts = model.enclosing_class(node);
    if (facts == nullptr) return false;
    const auto found = facts->attributes.find(text.substr(dot + 1));
    if (found == facts->attributes.end())
      return facts->is_module && !facts->methods.contains("device");
    for (const auto& attribute : found->second) {
      if (!model.value(attribute.value).is(Type::kDevice)) return false;
    }
    return true;
  }
  // `x.device` of a tensor parameter.
  for (const semantics::Binding* binding : model.scopes().reaching(object, node)) {
    if (binding->kind != semantics::BindingKind::kParameter) return false;
    const bool forward =
        syntax::function_of(binding->target).child(Field::kName).text().starts_with("forward");
    if (!forward && model.qualified(binding->annotation.first_child()) != "torch.Tensor")
      return false;
    return true;
  }
  return false;
}

// Whether a name is defined before the node. A decorator or a default is evaluated when its
// function is defined.
bool is_defined_before(const SemanticModel& model, Node node, std::string_view name) {
  for (const semantics::Binding* binding : model.scopes().module_level(name)) {
    if (binding->target.end() <= node.start()) return true;
  }
  return false;
}

}  // namespace

bool in_decorator(Node node) {
  for (Node up = node.parent(); up; up = up.parent()) {
    if (up.is(Kind::kDecorator)) return true;
    if (up.is_any(Kind::kBlock, Kind::kModule)) return false;
  }
  return false;
}

DeviceTypeRef device_type_at(const PythonContext& context, Node node) {
  const edit::DeviceRef device = context.devices.at(node);
  DeviceTypeRef result;
  result.certain = device.certain;
  result.needs.module_device = device.module_device;
  const bool early = in_decorator(node) || !syntax::function_of(node);
  if (early && !device.module_device) {
    result.usable =
        is_defined_before(context.model, node, device.text.substr(0, device.text.find('.')));
  }
  if (device.module_device || is_device_object(context, node, device.text)) {
    result.text = device.text + ".type";
    return result;
  }
  result.text = fmt::format("{}.device({}).type", context.devices.torch_name(), device.text);
  result.needs.imports.emplace_back("import torch");
  return result;
}

bool autocast_acts_elsewhere(const PythonContext& context, Node enabled) {
  return !enabled.is(Kind::kFalse) || context.settings.min_torch < edit::TorchVersion{2, 5};
}

}  // namespace torchport::rules
