// TP503: torch.cuda.amp, which is mixed precision for CUDA only.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/device_type.h"
#include "source/rules/edits.h"
#include "source/rules/kernels/common/extension.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/statements.h"
#include "source/semantics/guards.h"

namespace torchport::rules::cuda_amp {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP503",
    .name = "cuda-amp",
    .family = "mode",
    .severity = Severity::kWarning,
    .summary = "`torch.cuda.amp` is mixed precision for CUDA only",
    .void_with_cuda = true,
};

enum class Amp : std::uint8_t { kNone, kAutocast, kScaler, kCustom, kDtype };

Amp amp_of(std::string_view name) {
  if (name == "torch.get_autocast_gpu_dtype" || name == "torch.set_autocast_gpu_dtype")
    return Amp::kDtype;
  if (!name.starts_with("torch.cuda.amp.")) return Amp::kNone;
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (last == "autocast") return Amp::kAutocast;
  if (last == "GradScaler") return Amp::kScaler;
  return last == "custom_fwd" || last == "custom_bwd" ? Amp::kCustom : Amp::kNone;
}

// Whether torch.amp has the successor in every torch that the project supports. A scaler for mps
// raises "Cannot convert a MPS Tensor to float64" before torch 2.8.
bool has_successor(const PythonContext& context, Amp amp) {
  const edit::Settings& settings = context.settings;
  if (amp == Amp::kAutocast) return settings.min_torch >= edit::TorchVersion{1, 10};
  if (amp == Amp::kScaler)
    return settings.min_torch >=
           (context.devices.may_be("mps") ? edit::TorchVersion{2, 8} : edit::TorchVersion{2, 3});
  return amp != Amp::kNone && settings.min_torch >= edit::TorchVersion{2, 4};
}

Node enabled_of(Node call, Amp amp) {
  return syntax::argument(call, amp == Amp::kScaler ? 4 : 0, "enabled");
}

// Whether the successor may do something where this call does nothing.
bool acts_elsewhere(const PythonContext& context, Node call, Amp amp) {
  return amp == Amp::kAutocast && autocast_acts_elsewhere(context, enabled_of(call, amp));
}

// Whether the call is switched off without CUDA, which is how it is done with an old torch.
bool asks_first(const PythonContext& context, Node call, Amp amp) {
  const Node enabled = enabled_of(call, amp);
  if (semantics::implied_by(context.model, enabled, true).present) return true;
  if (has_successor(context, amp)) return false;
  return enabled.is(Kind::kFalse) ||
         enabled.text().find("is_available()") != std::string_view::npos;
}

// Adds keywords to positional arguments: in `torch.cuda.amp.autocast(False)` the first one is
// `enabled`, in torch.amp.autocast it is not.
void keyword_edits(Node call, Amp amp, std::string first, std::vector<Edit>& edits) {
  static constexpr std::array<std::string_view, 3> kOrder{"enabled", "dtype", "cache_enabled"};
  const auto args = syntax::arguments(call);
  if (args.empty()) {
    const std::uint32_t inside = call.child(Field::kArguments).start() + 1;
    edits.push_back({{inside, inside}, std::move(first)});
    return;
  }
  first += ", ";
  std::size_t position = 0;
  for (const syntax::Argument& arg : args) {
    const bool name_it = amp == Amp::kAutocast && arg.keyword.empty() && position < kOrder.size();
    std::string text = name_it ? first + std::string(kOrder[position++]) + "=" : first;
    if (!text.empty()) edits.push_back(insert_before(arg.whole, std::move(text)));
    first.clear();
  }
}

void rely_on(const DeviceTypeRef& type, Fix& fix) {
  fix.needs.module_device |= type.needs.module_device;
  fix.needs.imports.insert(fix.needs.imports.end(), type.needs.imports.begin(),
                           type.needs.imports.end());
  if (!type.certain) fix.applicability = Applicability::kUnsafe;
}

// Rewrites the arguments as torch.amp takes them. Lowers the fix's applicability if the device is
// not certain.
bool rewrite_arguments(const PythonContext& context, Node call, Amp amp, Fix& fix) {
  for (const syntax::Argument& arg : syntax::arguments(call)) {
    if (arg.keyword == "*") return false;
  }
  const DeviceTypeRef type = device_type_at(context, call);
  if (!type.usable) return false;
  rely_on(type, fix);
  keyword_edits(call, amp, amp == Amp::kCustom ? "device_type=" + type.text : type.text, fix.edits);
  return true;
}

// Gives a bare decorator the arguments that torch.amp asks for: `@custom_fwd`.
bool call_decorator(const PythonContext& context, Node decorator, Fix& fix) {
  const DeviceTypeRef type = device_type_at(context, decorator);
  if (!type.usable) return false;
  rely_on(type, fix);
  fix.edits.push_back(insert_after(decorator, fmt::format("(device_type={})", type.text)));
  return true;
}

struct ImportedName {
  std::string_view name;  // the name that the file uses
  std::string text;       // its text in the import
  Amp amp = Amp::kNone;
};

std::vector<ImportedName> names_of(Node statement) {
  std::vector<ImportedName> names;
  const std::string module(statement.child(Field::kModuleName).text());
  for (const Node name : statement.children(Field::kName)) {
    const bool aliased = name.is(Kind::kAliasedImport);
    const Node original = aliased ? name.child(Field::kName) : name;
    const Node local = aliased ? name.child(Field::kAlias) : name;
    names.push_back({local.text(), std::string(name.text()),
                     amp_of(module + "." + std::string(original.text()))});
  }
  return names;
}

// Whether a use only asks for the type. It works with the successor too, because the old class is a
// subclass of it.
bool is_type_use(Node use) {
  for (Node up = use.parent(); up; up = up.parent()) {
    if (up.is(Kind::kType)) return true;
    if (up.is(Kind::kCall)) return syntax::callee(up).text() == "isinstance";
    if (up.is_any(Kind::kBlock, Kind::kModule)) return false;
  }
  return false;
}

bool rewrite_uses(const PythonContext& context, const ImportedName& imported, Node statement,
                  Fix& fix) {
  for (const Node use : context.model.named(imported.name)) {
    if (statement.holds(use)) continue;
    if (use.field() == Field::kAttributeName ||
        (use.parent().is(Kind::kKeywordArgument) && use.field() == Field::kName))
      continue;
    const auto bindings = context.model.scopes().reaching(use.text(), use);
    if (bindings.size() != 1 || bindings.front()->value != statement) return false;
    if (use.field() == Field::kFunctionPart && use.parent().is(Kind::kCall)) {
      if (!rewrite_arguments(context, use.parent(), imported.amp, fix)) return false;
      if (acts_elsewhere(context, use.parent(), imported.amp))
        fix.applicability = Applicability::kUnsafe;
    } else if (imported.amp == Amp::kCustom && use.parent().is(Kind::kDecorator)) {
      if (!call_decorator(context, use, fix)) return false;
    } else if (imported.amp != Amp::kScaler || !is_type_use(use)) {
      return false;
    }
  }
  return true;
}

// Rewrites `from torch.cuda.amp import autocast`: the import and every call together, or nothing.
bool rewrite_import(const PythonContext& context, Node callee, Fix& fix) {
  const auto bindings = context.model.scopes().reaching(callee.text(), callee);
  if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kImport)
    return false;
  const Node statement = bindings.front()->value;
  if (!statement.is(Kind::kImportFrom) || !stands_alone(statement)) return false;
  if (statement.text().find('#') != std::string_view::npos) return false;
  if (context.model.scopes().all(callee.text(), callee).size() != 1) return false;
  std::string moved;
  std::string kept;
  for (const ImportedName& imported : names_of(statement)) {
    const bool moves = has_successor(context, imported.amp);
    std::string& list = moves ? moved : kept;
    list += (list.empty() ? "" : ", ") + imported.text;
    if (moves && !rewrite_uses(context, imported, statement, fix)) return false;
  }
  if (kept.empty()) {
    fix.edits.push_back(replace(statement.child(Field::kModuleName), "torch.amp"));
    return true;
  }
  fix.edits.push_back(replace(
      statement,
      fmt::format("from torch.amp import {}{}{}from {} import {}", moved, newline_of(statement),
                  indentation_of(statement), statement.child(Field::kModuleName).text(), kept)));
  return true;
}

// For an old torch: switches it off if CUDA is not available.
Fix switch_off(const PythonContext& context, Node call, Amp amp) {
  Fix fix;
  const std::string available = fmt::format("{}.cuda.is_available()", context.devices.torch_name());
  fix.title = "switch it off if CUDA is not available";
  fix.needs.imports.emplace_back("import torch");
  const Node enabled = enabled_of(call, amp);
  if (syntax::has_splat(call)) return fix;
  fix.applicability = Applicability::kSafe;
  if (!enabled) {
    fix.edits = {add_argument(call, "enabled=" + available)};
  } else if (enabled.is(Kind::kTrue)) {
    fix.edits = {replace(enabled, available)};
  } else {
    const bool weak = enabled.is_any(Kind::kBooleanOperator, Kind::kConditional, Kind::kLambda);
    fix.edits = {replace(enabled, fmt::format("{}{}{} and {}", weak ? "(" : "", enabled.text(),
                                              weak ? ")" : "", available))};
  }
  return fix;
}

// The name of the successor, as the file writes it.
std::string successor_of(const PythonContext& context, std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  const std::string& torch = context.devices.torch_name();
  if (last == "get_autocast_gpu_dtype") return torch + ".get_autocast_dtype";
  if (last == "set_autocast_gpu_dtype") return torch + ".set_autocast_dtype";
  return fmt::format("{}.amp.{}", torch, last);
}

// What is only said where no fix can be written.
std::string_view description_of(Amp amp) {
  if (amp == Amp::kCustom)
    return "use torch.amp.custom_fwd and custom_bwd (torch 2.4) with the device's type";
  if (amp == Amp::kDtype)
    return "ask torch.get_autocast_dtype (torch 2.4) with the type of the tensor's device";
  return "use torch.amp with the type of the device";
}

// Fixes a call, or a bare decorator.
Fix make_fix(const PythonContext& context, Node use, Amp amp) {
  Fix described{Applicability::kDisplay, std::string(description_of(amp)), {}, {}};
  const bool is_call = use.is(Kind::kCall);
  if (!has_successor(context, amp)) {
    const bool has_switch = amp == Amp::kAutocast || amp == Amp::kScaler;
    return is_call && has_switch ? switch_off(context, use, amp) : described;
  }
  Fix fix{Applicability::kSafe, "use torch.amp with the type of the device", {}, {}};
  const Node name = is_call ? syntax::callee(use) : use;
  if (name.is(Kind::kIdentifier) && amp != Amp::kDtype)
    return rewrite_import(context, name, fix) ? fix : described;
  const bool written =
      is_call ? rewrite_arguments(context, use, amp, fix) : call_decorator(context, use, fix);
  if (!written) return described;
  if (acts_elsewhere(context, use, amp)) fix.applicability = Applicability::kUnsafe;
  fix.edits.push_back(replace(name, successor_of(context, context.model.qualified(name))));
  fix.needs.imports.emplace_back("import torch");
  return fix;
}

// Fixes `partial(torch.cuda.amp.autocast, enabled=True)`.
Fix make_partial_fix(const PythonContext& context, Node partial, Amp amp) {
  const Node bound = syntax::positional(partial, 0);
  Fix described{Applicability::kDisplay, std::string(description_of(amp)), {}, {}};
  if (!has_successor(context, amp) || !bound.is(Kind::kAttribute) ||
      syntax::positional(partial, 1) || syntax::has_splat(partial))
    return described;
  const DeviceTypeRef type = device_type_at(context, partial);
  if (!type.usable) return described;
  Fix fix{Applicability::kSafe, described.title, {}, {}};
  rely_on(type, fix);
  const std::string keyword = amp == Amp::kCustom ? "device_type=" : "";
  fix.edits = {
      replace(bound, fmt::format("{}, {}{}", successor_of(context, context.model.qualified(bound)),
                                 keyword, type.text))};
  fix.needs.imports.emplace_back("import torch");
  return fix;
}

std::string message_of(Amp amp, bool switches_off = false) {
  if (switches_off) {
    return "This switches off CUDA's autocast only (and is deprecated): that of another device "
           "stays on.";
  }
  if (amp == Amp::kScaler) {
    return "This scaler serves CUDA only (and is deprecated): on other devices it warns and is "
           "off.";
  }
  if (amp == Amp::kCustom)
    return "This serves CUDA's autocast only (and is deprecated): elsewhere it does nothing.";
  if (amp == Amp::kDtype) {
    return "This is the type of CUDA's autocast (and deprecated): under the autocast of another "
           "device, another one is in use.";
  }
  return "This autocast serves CUDA only (and is deprecated): on other devices it warns, and the "
         "code runs in "
         "full precision.";
}

// Whether the file is written for CUDA's kernels: it imports Triton or an extension.
bool imports_kernels(const SemanticModel& model) {
  for (const semantics::Binding* binding : model.scopes().of_scope(model.tree().root())) {
    if (binding->kind == semantics::BindingKind::kImport &&
        (binding->qualified.starts_with("triton") ||
         binding->qualified.find("_cuda") != std::string::npos || binding->name.ends_with("_cuda")))
      return true;
  }
  return model.imports("triton");
}

// Whether the file compiles CUDA's kernels when it is imported.
bool compiles_kernels(const SemanticModel& model) {
  const auto calls = model.nodes(Kind::kCall);
  return std::any_of(calls.begin(), calls.end(), [&](Node call) {
    const std::string& name = model.called(call);
    return !syntax::function_of(call) &&
           (name == "cupy.RawKernel" || name == "cupy.RawModule" || compiles_cuda(model, call));
  });
}

// Whether the file uses the successor where torch has it.
bool is_for_old_torch(Node use) {
  for (Node up = use.parent(); up && !up.is(Kind::kFunction); up = up.parent()) {
    const Node condition = up.is(Kind::kConditional)           ? up.first_child().next_sibling()
                           : up.is_any(Kind::kIf, Kind::kElif) ? up.child(Field::kCondition)
                                                               : Node{};
    if (condition.text().find("get_autocast_dtype") != std::string_view::npos ||
        condition.text().find("version") != std::string_view::npos)
      return true;
  }
  return false;
}

void check_decorator(const PythonContext& context, Node decorator, Reporter& reporter) {
  const Node plain = decorator.first_child();
  if (plain.is(Kind::kCall) || amp_of(context.model.qualified(plain)) != Amp::kCustom ||
      compiles_kernels(context.model))
    return;
  reporter.report(plain, message_of(Amp::kCustom))
      .fix.push_back(make_fix(context, plain, Amp::kCustom));
}

void check_partial(const PythonContext& context, Node call, Reporter& reporter) {
  const Node bound = syntax::positional(call, 0);
  const Amp amp = amp_of(context.model.qualified(bound));
  if (amp == Amp::kNone || amp == Amp::kDtype || semantics::is_cuda_guarded(context.model, call) ||
      semantics::implied_by(context.model, syntax::keyword(call, "enabled"), true).present)
    return;
  reporter.report(bound, message_of(amp)).fix.push_back(make_partial_fix(context, call, amp));
}

void check_call(const PythonContext& context, Node call, Reporter& reporter) {
  const Amp amp = amp_of(context.model.called(call));
  if (amp == Amp::kNone || semantics::is_cuda_guarded(context.model, call) ||
      is_for_old_torch(call))
    return;
  if (amp == Amp::kCustom && compiles_kernels(context.model)) return;
  if (amp == Amp::kDtype) {
    if (is_cuda_territory(context, call) || imports_kernels(context.model)) return;
  } else if (asks_first(context, call, amp)) {
    return;
  }
  const bool switches_off = amp == Amp::kAutocast && enabled_of(call, amp).is(Kind::kFalse);
  reporter.report(call, message_of(amp, switches_off)).fix.push_back(make_fix(context, call, amp));
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (node.is(Kind::kDecorator)) return check_decorator(context, node, reporter);
  if (context.model.called(node) == "functools.partial")
    return check_partial(context, node, reporter);
  check_call(context, node, reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kCall, Kind::kDecorator},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_amp
