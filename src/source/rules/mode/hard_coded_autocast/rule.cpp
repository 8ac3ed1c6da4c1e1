// TP504: torch.amp with the hard-coded device type "cuda".
#include "source/rules/rule.h"

#include <fmt/format.h>

#include "source/rules/device_type.h"
#include "source/rules/edits.h"
#include "source/semantics/guards.h"

namespace torchport::rules::hard_coded_autocast {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP504",
    .name = "hard-coded-autocast",
    .family = "mode",
    .severity = Severity::kWarning,
    .summary = "autocast or a gradient scaler for `\"cuda\"` does nothing on other devices",
    .void_with_cuda = true,
};

bool is_autocast(std::string_view name) {
  return name == "torch.autocast" || name == "torch.amp.autocast" ||
         name == "torch.amp.autocast_mode.autocast" || name == "torch.amp.custom_fwd" ||
         name == "torch.amp.custom_bwd";
}

bool is_scaler(std::string_view name) {
  return name == "torch.amp.GradScaler" || name == "torch.amp.grad_scaler.GradScaler" ||
         name == "torch.GradScaler";
}

Fix make_fix(const PythonContext& context, Node call, Node literal) {
  Fix fix;
  const DeviceTypeRef type = device_type_at(context, call);
  fix.title = fmt::format("use the type of the device: {}", type.text);
  if (!type.usable) return fix;
  const bool acts_elsewhere = context.model.called(call).ends_with("autocast") &&
                              autocast_acts_elsewhere(context, syntax::keyword(call, "enabled"));
  fix.applicability =
      type.certain && !acts_elsewhere ? Applicability::kSafe : Applicability::kUnsafe;
  fix.needs = type.needs;
  if (literal) {
    fix.edits = {replace(literal, type.text)};
  } else {
    const auto args = syntax::arguments(call);
    const std::uint32_t at =
        args.empty() ? call.child(Field::kArguments).start() + 1 : args.front().whole.start();
    fix.edits = {{{at, at}, args.empty() ? type.text : type.text + ", "}};
  }
  return fix;
}

const char* message_of(Node call, bool scaler) {
  if (scaler) return "A gradient scaler for \"cuda\" warns and is off on other devices.";
  if (syntax::keyword(call, "enabled").is(Kind::kFalse))
    return "This switches off the autocast of \"cuda\" only: that of another device stays on.";
  return "Autocast for \"cuda\" does nothing on other devices: the code runs in full precision "
         "there.";
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const std::string& name = context.model.called(call);
  const bool scaler = is_scaler(name);
  if (!scaler && !is_autocast(name)) return;
  const Node type = syntax::argument(call, 0, scaler ? "device" : "device_type");
  std::string text;
  const bool silent =
      scaler && !type && !syntax::has_splat(call);  // a scaler without a device is for CUDA
  if (!silent && (!syntax::string_value(type, text) || !semantics::is_cuda_string(text))) return;
  if (semantics::is_cuda_guarded(context.model, call)) return;
  // It is switched on only with CUDA, or nowhere.
  const Node enabled = syntax::keyword(call, "enabled");
  if (semantics::implied_by(context.model, enabled, true).present ||
      (scaler && enabled.is(Kind::kFalse)))
    return;
  reporter.report(silent ? call : type, message_of(call, scaler))
      .fix.push_back(make_fix(context, call, type));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::hard_coded_autocast
