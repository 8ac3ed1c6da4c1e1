// TP103: a default that names a CUDA device.
#include "source/rules/rule.h"

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/placement/common/device_text.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP103",
    .name = "device-default",
    .family = "placement",
    .severity = Severity::kError,
    .summary = "the default device of a parameter, option or field is CUDA",
};

// The parameter of which the literal is the default; invalid for options and fields.
Node parameter_of(Node site) {
  const Node holder = holder_of(site);
  return holder.is_any(Kind::kDefaultParameter, Kind::kTypedDefaultParameter) ? holder : Node{};
}

// Whether the function repairs the default: by replacing the parameter if there is no device, or by
// a test before it (`if not torch.cuda.is_available(): device = "cpu"`).
bool is_repaired(const SemanticModel& model, Node parameter) {
  const Node function = parameter.parent().parent();
  const std::string_view name = parameter.child(Field::kName).text();
  for (const semantics::Binding* binding : model.scopes().of_scope(function)) {
    if (binding->name != name || binding->kind != semantics::BindingKind::kAssign ||
        !binding->value)
      continue;
    if (semantics::knowledge_at(model, binding->value).absent) return true;
    if (binding->value.text().find("is_available") != std::string_view::npos) return true;
  }
  return false;
}

// Whether a use of a name chooses an autocast or a scaler, or is compared: nothing is placed there.
bool chooses_autocast(const SemanticModel& model, Node use) {
  if (use.parent().is(Kind::kComparison)) return true;
  const Node list = use.parent().is(Kind::kKeywordArgument) ? use.parent().parent() : use.parent();
  if (!list.is(Kind::kArgumentList)) return false;
  const std::string& name = model.called(list.parent());
  return name == "torch.autocast" || name == "torch.amp.autocast" ||
         name == "torch.amp.autocast_mode.autocast" || name == "torch.amp.GradScaler";
}

// Whether an attribute `self.x` chooses autocasts wherever the class reads it.
bool attribute_chooses_autocast(const SemanticModel& model, Node attribute) {
  const Node holder = syntax::class_of(attribute);
  if (!attribute.is(Kind::kAttribute) || !holder) return false;
  std::size_t others = 0;
  for (const Node name : model.named(attribute.child(Field::kAttributeName).text(), holder)) {
    const Node use = name.parent();
    if (use == attribute || use.text() != attribute.text()) continue;
    if (!chooses_autocast(model, use)) return false;
    others += use.parent().is(Kind::kComparison) ? 0 : 1;
  }
  return others > 0;
}

// Whether the function only chooses an autocast by the parameter, also through an attribute of the
// object: nothing is placed with it.
bool is_only_for_autocast(const SemanticModel& model, Node parameter) {
  const Node function = parameter.parent().parent();
  const auto uses = model.named(parameter.child(Field::kName).text(), function);
  std::size_t others = 0;
  for (const Node use : uses) {
    if (parameter.holds(use)) continue;
    const Node parent = use.parent();
    const bool kept = parent.is(Kind::kAssignment) && use.field() == Field::kRight &&
                      attribute_chooses_autocast(model, parent.child(Field::kLeft));
    if (use.parent().is(Kind::kAttribute) && use.field() == Field::kAttributeName) continue;
    if (!kept && !chooses_autocast(model, use)) return false;
    others += parent.is(Kind::kComparison) ? 0 : 1;
  }
  return others > 0;
}

// Whether the function is one in a function, and each of its calls passes the parameter: the
// default is never used.
bool is_always_passed(const SemanticModel& model, Node parameter) {
  const Node function = parameter.parent().parent();
  const Node outer = syntax::function_of(function);
  if (!outer.is(Kind::kFunction) || function.parent().parent() != outer) return false;
  std::size_t place = 0;
  for (Node other = parameter.parent().first_child(); other && other != parameter;
       other = other.next_sibling())
    ++place;
  std::size_t calls = 0;
  for (const Node use : model.named(function.child(Field::kName).text(), outer)) {
    if (function.child(Field::kName) == use) continue;
    const Node call = use.parent();
    if (!call.is(Kind::kCall) || use.field() != Field::kFunctionPart || syntax::has_splat(call) ||
        !syntax::argument(call, place, parameter.child(Field::kName).text()))
      return false;
    ++calls;
  }
  return calls > 0;
}

DeviceText replacement(const PythonContext& context, const semantics::Literal& literal,
                       Node parameter) {
  const Node site = literal.site();
  const bool as_string = !literal.device_call;
  if (literal.indexed) return guarded_device(context, site.text(), as_string);
  if (!as_string) {
    return parameter ? scope_device(context, site, true) : inline_device(context, false);
  }
  if (const Node choices = option_choices(site)) return allowed_device(context, choices);
  // An option keeps its choice visible in one place; a signature stays short.
  return parameter ? string_device(context, site) : inline_device(context, true);
}

void check(const PythonContext& context, Node string, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const semantics::Literal literal = semantics::classify_literal(model, string);
  if (literal.role != semantics::LiteralRole::kDefault || is_cuda_territory(context, string))
    return;
  const Node site = literal.site();
  const Node parameter = parameter_of(site);
  if (parameter && (is_repaired(model, parameter) || is_only_for_autocast(model, parameter) ||
                    is_always_passed(model, parameter)))
    return;
  Finding& finding = reporter.report(
      literal.whole,
      parameter
          ? "Called without a device, this raises \"Torch not compiled with CUDA enabled\" on "
            "a machine without CUDA; other accelerators are never used."
          : "Without this setting the program raises \"Torch not compiled with CUDA enabled\" "
            "on a machine without CUDA; other accelerators are never used.");
  const DeviceText device = replacement(context, literal, parameter);
  if (device.text.empty()) return;
  const std::string text =
      device.text.find(" if ") == std::string::npos ? device.text : fitted(site, device.text);
  Fix fix;
  fix.title = fmt::format("replace `{}` with `{}`", site.text(), text);
  fix.applicability = device.certain ? Applicability::kSafe : Applicability::kUnsafe;
  if (!model.imports_torch()) fix.applicability = Applicability::kDisplay;
  fix.edits = {replace(site, text)};
  fix.needs = device.needs;
  finding.fix.push_back(std::move(fix));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kString}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules
