// TP503: torch.cuda.amp, which is mixed precision for CUDA only.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/device_type.h"
#include "source/rules/edits.h"
#include "source/rules/statements.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP503",
    .name = "cuda-amp",
    .family = "mode",
    .severity = Severity::kWarning,
    .summary = "`torch.cuda.amp` is mixed precision for CUDA only",
    .void_with_cuda = true,
};

enum class Amp : std::uint8_t { kNone, kAutocast, kScaler, kCustom };

Amp amp_of(std::string_view name) {
  if (!name.starts_with("torch.cuda.amp.")) return Amp::kNone;
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (last == "autocast") return Amp::kAutocast;
  if (last == "GradScaler") return Amp::kScaler;
  return last == "custom_fwd" || last == "custom_bwd" ? Amp::kCustom : Amp::kNone;
}

// Whether torch.amp has the successor in every torch that the project supports.
bool has_successor(const edit::Settings& settings, Amp amp) {
  if (amp == Amp::kAutocast) return settings.min_torch >= edit::TorchVersion{1, 10};
  return amp == Amp::kScaler && settings.min_torch >= edit::TorchVersion{2, 3};
}

Node enabled_of(Node call, Amp amp) {
  return syntax::argument(call, amp == Amp::kScaler ? 4 : 0, "enabled");
}

// Whether the call is switched off without CUDA, which is how it is done with an old torch.
bool asks_first(const PythonContext& context, Node call, Amp amp) {
  const Node enabled = enabled_of(call, amp);
  if (semantics::implied_by(context.model, enabled, true).present) return true;
  if (has_successor(context.settings, amp)) return false;
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

// Rewrites the arguments as torch.amp takes them. Lowers the fix's applicability if the device is
// not certain.
bool rewrite_arguments(const PythonContext& context, Node call, Amp amp, Fix& fix) {
  for (const syntax::Argument& arg : syntax::arguments(call)) {
    if (arg.keyword == "*") return false;
  }
  const DeviceTypeRef type = device_type_at(context, call);
  if (!type.usable) return false;
  keyword_edits(call, amp, type.text, fix.edits);
  fix.needs.module_device |= type.needs.module_device;
  fix.needs.imports.insert(fix.needs.imports.end(), type.needs.imports.begin(),
                           type.needs.imports.end());
  if (!type.certain) fix.applicability = Applicability::kUnsafe;
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
    const bool moves = has_successor(context.settings, imported.amp);
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

Fix make_fix(const PythonContext& context, Node call, Amp amp) {
  Fix described;
  described.title = "use torch.amp with the type of the device";
  if (amp == Amp::kCustom) {
    described.title = "use torch.amp.custom_fwd and custom_bwd (torch 2.4) with the device's type";
    return described;
  }
  if (!has_successor(context.settings, amp)) return switch_off(context, call, amp);
  Fix fix;
  fix.applicability = Applicability::kSafe;
  fix.title = described.title;
  const Node callee = syntax::callee(call);
  if (callee.is(Kind::kIdentifier)) return rewrite_import(context, callee, fix) ? fix : described;
  if (!rewrite_arguments(context, call, amp, fix)) return described;
  const std::string_view last = amp == Amp::kScaler ? "GradScaler" : "autocast";
  fix.edits.push_back(
      replace(callee, fmt::format("{}.amp.{}", context.devices.torch_name(), last)));
  fix.needs.imports.emplace_back("import torch");
  return fix;
}

std::string message_of(Amp amp, bool switches_off = false) {
  if (switches_off) {
    return "This switches off CUDA's autocast only (and is deprecated): under the autocast of "
           "another device the code stays in low precision.";
  }
  if (amp == Amp::kScaler) {
    return "This scaler serves CUDA only (and is deprecated): on other devices it warns and is "
           "off.";
  }
  if (amp == Amp::kCustom)
    return "This serves CUDA's autocast only (and is deprecated): elsewhere it does nothing.";
  return "This autocast serves CUDA only (and is deprecated): on other devices it warns, and the "
         "code runs in "
         "full precision.";
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (node.is(Kind::kDecorator)) {
    const Node plain = node.first_child();
    if (plain.is(Kind::kCall) || amp_of(context.model.qualified(plain)) != Amp::kCustom) return;
    reporter.report(plain, message_of(Amp::kCustom))
        .fix.push_back(make_fix(context, plain, Amp::kCustom));
    return;
  }
  const Amp amp = amp_of(context.model.called(node));
  if (amp == Amp::kNone || semantics::is_cuda_guarded(context.model, node) ||
      asks_first(context, node, amp))
    return;
  const bool switches_off = amp == Amp::kAutocast && enabled_of(node, amp).is(Kind::kFalse);
  reporter.report(node, message_of(amp, switches_off)).fix.push_back(make_fix(context, node, amp));
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kCall, Kind::kDecorator},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules
