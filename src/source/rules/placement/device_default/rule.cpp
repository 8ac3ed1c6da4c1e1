// TP103: a default that names a CUDA device.
#include "source/rules/rule.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "source/flow/sources.h"
#include "source/flow/traits.h"
#include "source/rules/edits.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/placement/common/literal_use.h"
#include "source/semantics/guards.h"

namespace torchport::rules::device_default {

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
    if (flow::stands_in_for_device(model, binding->value)) return true;
  }
  return false;
}

// Whether the function uses the parameter only where there is CUDA: `torch.device(device) if
// torch.cuda.is_available() else ...`.
bool is_used_with_cuda(const SemanticModel& model, Node parameter) {
  const Node function = parameter.parent().parent();
  bool any = false;
  for (const Node use : model.named(parameter.child(Field::kName).text(), function)) {
    if (parameter.holds(use) || use.field() == Field::kAttributeName ||
        (use.field() == Field::kName && use.parent().is(Kind::kKeywordArgument)))
      continue;
    if (!semantics::is_cuda_guarded(model, use)) return false;
    any = true;
  }
  return any;
}

// Whether a use of a name chooses an autocast or a scaler, or is compared: nothing is placed there.
bool chooses_autocast(const SemanticModel& model, Node use) {
  if (use.parent().is(Kind::kComparison)) return true;
  // A report of the settings.
  std::string key;
  if (use.parent().is(Kind::kPair) && use.field() == Field::kValue)
    return syntax::string_value(use.parent().child(Field::kKey), key) && key == "device_type";
  const Node list = use.parent().is(Kind::kKeywordArgument) ? use.parent().parent() : use.parent();
  if (!list.is(Kind::kArgumentList)) return false;
  const std::string& name = model.called(list.parent());
  return name == "torch.autocast" || name == "torch.amp.autocast" ||
         name == "torch.amp.autocast_mode.autocast" || name == "torch.amp.GradScaler";
}

// Whether the function only compares the parameter, and asks whether there is CUDA: nothing is
// placed with it.
bool is_only_compared(const SemanticModel& model, Node parameter) {
  const Node function = parameter.parent().parent();
  if (function.text().find("is_available") == std::string_view::npos) return false;
  const std::string_view name = parameter.child(Field::kName).text();
  std::size_t compared = 0;
  for (const Node use : model.named(name, function)) {
    if (parameter.holds(use) || use.field() == Field::kAttributeName ||
        (use.parent().is(Kind::kKeywordArgument) && use.field() == Field::kName))
      continue;
    const Node parent = use.parent();
    // device = device.lower()
    const bool in_own_case = parent.is(Kind::kAttribute) &&
                             parent.child(Field::kAttributeName).text() == "lower" &&
                             parent.parent().parent().is(Kind::kAssignment) &&
                             parent.parent().parent().child(Field::kLeft).text() == name;
    const bool target = parent.is(Kind::kAssignment) && use.field() == Field::kLeft &&
                        parent.child(Field::kRight).text() == std::string(name) + ".lower()";
    if (in_own_case || target) continue;
    if (!parent.is(Kind::kComparison)) return false;
    ++compared;
  }
  return compared > 0;
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
    others += use.parent().is_any(Kind::kComparison, Kind::kPair) ? 0 : 1;
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
    others += parent.is_any(Kind::kComparison, Kind::kPair) ? 0 : 1;
  }
  return others > 0;
}

// Whether no other file calls the functions of this one: it is a test, or a program.
bool is_program_or_test(const PythonContext& context) {
  if (context.is_test()) return true;
  const auto names = context.model.named("__name__");
  return std::any_of(names.begin(), names.end(), [](Node name) {
    return name.parent().is(Kind::kComparison) && name.parent().parent().is(Kind::kIf) &&
           !syntax::function_of(name);
  });
}

// Whether a name may mean the function, and nothing else of its name: a parameter.
bool names_function(const SemanticModel& model, Node use, Node function) {
  const auto bindings = model.scopes().reaching(use.text(), use);
  return bindings.empty() ||
         std::any_of(bindings.begin(), bindings.end(), [&](const semantics::Binding* binding) {
           return binding->target == function.child(Field::kName) || binding->value == function;
         });
}

// Whether each call of the function passes the parameter, so that the default is never used. The
// function is one in a function, or one of a file that no other calls.
bool is_always_passed(const PythonContext& context, Node parameter) {
  const SemanticModel& model = context.model;
  const Node function = parameter.parent().parent();
  const Node outer = function.parent().is(Kind::kModule) && is_program_or_test(context)
                         ? function.parent()
                         : syntax::function_of(function);
  const bool own = outer.is(Kind::kModule) || function.parent().parent() == outer;
  if (!outer.is_any(Kind::kFunction, Kind::kModule) || !own) return false;
  std::size_t place = 0;
  for (Node other = parameter.parent().first_child(); other && other != parameter;
       other = other.next_sibling())
    ++place;
  std::size_t calls = 0;
  for (const Node use : model.named(function.child(Field::kName).text(), outer)) {
    if (function.child(Field::kName) == use || !names_function(model, use, function)) continue;
    const Node call = use.parent();
    if (!call.is(Kind::kCall) || use.field() != Field::kFunctionPart || syntax::has_splat(call) ||
        !syntax::argument(call, place, parameter.child(Field::kName).text()))
      return false;
    ++calls;
  }
  return calls > 0;
}

// The attributes to which the file gives another device where theirs is not available: `args.device
// = "cpu"` below a test.
struct RepairedOptions {
  explicit RepairedOptions(const SemanticModel& model) {
    for (const Node assignment : model.nodes(Kind::kAssignment)) {
      const Node target = assignment.child(Field::kLeft);
      const Node value = assignment.child(Field::kRight);
      if (target.is(Kind::kAttribute) && value && !syntax::class_of(target) &&
          flow::stands_in_for_device(model, value))
        names.insert(target.child(Field::kAttributeName).text());
    }
  }
  std::unordered_set<std::string_view> names;
};

// Whether the literal is the default of an option that the file repairs.
bool is_repaired_option(const SemanticModel& model, Node site) {
  const Node list = holder_of(site).parent();
  if (!list.is(Kind::kArgumentList) || method_name(list.parent()) != "add_argument") return false;
  const auto& repaired = model.facts<RepairedOptions>().names;
  std::string name;
  for (const syntax::Argument& argument : syntax::arguments(list.parent())) {
    if ((!argument.keyword.empty() && argument.keyword != "dest") ||
        !syntax::string_value(argument.value, name))
      continue;
    name.erase(0, name.find_first_not_of('-'));
    std::replace(name.begin(), name.end(), '-', '_');
    if (repaired.contains(name)) return true;
  }
  return false;
}

// The call of which a value is an argument; invalid if there is none.
Node call_taking(Node value) {
  Node list = value.parent();
  if (list.is(Kind::kKeywordArgument)) list = list.parent();
  return list.is(Kind::kArgumentList) ? list.parent() : Node{};
}

// The functions that get the default and nothing else does: if each of them replaces a device that
// is not available, nothing fails. Empty if something else uses it.
std::vector<flow::Callee> takers_of(const SemanticModel& model, Node site, Node parameter) {
  std::vector<flow::Callee> takers;
  const auto add = [&](Node value) {
    const Node call = call_taking(value);
    flow::Callee callee = call.is(Kind::kCall) ? flow::callee_of(model, call) : flow::Callee{};
    if (callee.empty()) return false;
    takers.push_back(std::move(callee));
    return true;
  };
  if (!parameter) {
    // f(device=getattr(args, "device", "cuda"))
    const Node call = call_taking(site);
    if (!call.is(Kind::kCall) || !add(call)) takers.clear();
    return takers;
  }
  const Node function = parameter.parent().parent();
  for (const Node use : model.named(parameter.child(Field::kName).text(), function)) {
    const auto bindings = model.scopes().reaching(use.text(), use);
    const bool reads = std::any_of(bindings.begin(), bindings.end(), [&](const auto* binding) {
      return parameter.holds(binding->target);
    });
    const bool is_name = use.field() == Field::kAttributeName || parameter.holds(use) ||
                         (use.field() == Field::kName && use.parent().is(Kind::kKeywordArgument)) ||
                         (use.field() == Field::kLeft && use.parent().is(Kind::kAssignment));
    if (reads && !is_name && !add(use)) return {};
  }
  return takers;
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
                    is_always_passed(context, parameter) || is_used_with_cuda(model, parameter) ||
                    is_only_compared(model, parameter) || is_parameter_unread(model, parameter)))
    return;
  if (!parameter && is_repaired_option(model, site)) return;
  Finding& finding = reporter.report(
      literal.whole,
      parameter
          ? "Called without a device, this raises \"Torch not compiled with CUDA enabled\" on "
            "a machine without CUDA; other accelerators are never used."
          : "Without this setting the program raises \"Torch not compiled with CUDA enabled\" "
            "on a machine without CUDA; other accelerators are never used.");
  if (auto takers = takers_of(model, site, parameter); !takers.empty())
    finding.unless.push_back({flow::Condition::Kind::kGivesCpu, {}, std::move(takers)});
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

}  // namespace torchport::rules::device_default
