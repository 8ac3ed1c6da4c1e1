// TP403: "nccl" as the only backend of torch.distributed.
#include "source/rules/rule.h"

#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/statements.h"
#include "source/semantics/guards.h"

namespace torchport::rules::nccl_backend {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP403",
    .name = "nccl-backend",
    .family = "parallel",
    .severity = Severity::kError,
    .summary = "a literal `\"nccl\"` is a backend for CUDA devices only",
    .void_with_cuda = true,
};

bool is_backend_name(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames{
      "backend",      "dist_backend", "distributed_backend", "ddp_backend", "dist_url_backend",
      "DIST_BACKEND", "BACKEND"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Whether the call declares an option such as --backend, --dist-backend or --distributed_backend.
bool is_backend_option(Node call) {
  if (method_name(call) != "add_argument" && method_name(call) != "option") return false;
  for (const syntax::Argument& arg : syntax::arguments(call)) {
    std::string text;
    if (arg.keyword.empty() && syntax::string_value(arg.value, text) && text.starts_with('-') &&
        text.find("backend") != std::string::npos) {
      return true;
    }
  }
  return false;
}

enum class Use : std::uint8_t { kNone, kArgument, kOption, kDefault, kAssigned };

Use use_of(const SemanticModel& model, Node literal) {
  const Node parent = literal.parent();
  if (parent.is(Kind::kArgumentList) && parent.parent().is(Kind::kCall)) {
    const std::string& name = model.called(parent.parent());
    const bool group =
        name.ends_with("distributed.init_process_group") || name.ends_with(".init_process_group");
    return group && syntax::positional(parent.parent(), 0) == literal ? Use::kArgument : Use::kNone;
  }
  if (parent.is(Kind::kKeywordArgument)) {
    const std::string_view keyword = parent.child(Field::kName).text();
    const Node call = parent.parent().parent();
    // A framework for CUDA only.
    if (model.called(call).starts_with("colossalai.")) return Use::kNone;
    if (keyword == "default" && is_backend_option(call)) return Use::kOption;
    return is_backend_name(keyword) ? Use::kArgument : Use::kNone;
  }
  if (parent.is_any(Kind::kDefaultParameter, Kind::kTypedDefaultParameter)) {
    return is_backend_name(parent.child(Field::kName).text()) ? Use::kDefault : Use::kNone;
  }
  if (parent.is(Kind::kAssignment) && literal.field() == Field::kRight) {
    if (!is_backend_name(last_name(parent.child(Field::kLeft)))) return Use::kNone;
    const bool field = parent.parent().parent().parent().is(Kind::kClass);
    return field ? Use::kDefault : Use::kAssigned;
  }
  if (parent.is(Kind::kPair) && literal.field() == Field::kValue) {
    std::string key;
    return syntax::string_value(parent.child(Field::kKey), key) && is_backend_name(key)
               ? Use::kArgument
               : Use::kNone;
  }
  return Use::kNone;
}

Fix make_fix(const PythonContext& context, Node literal, Use use) {
  Fix fix;
  fix.applicability = use == Use::kDefault ? Applicability::kUnsafe : Applicability::kSafe;
  const std::string_view text = literal.text();
  const std::string gloo = text.ends_with('\'') ? "'gloo'" : "\"gloo\"";
  fix.title = "choose gloo if CUDA is not available";
  fix.edits = {insert_after(literal, fmt::format(" if {}.cuda.is_available() else {}",
                                                 context.devices.torch_name(), gloo))};
  fix.needs.imports.emplace_back("import torch");
  return fix;
}

void check(const PythonContext& context, Node literal, Reporter& reporter) {
  if (literal.end() - literal.start() > 12 || literal.text().find("nccl") == std::string_view::npos)
    return;
  std::string value;
  if (!syntax::string_value(literal, value) || value != "nccl") return;
  const Use use = use_of(context.model, literal);
  if (use == Use::kNone || !context.model.imports_torch() || context.is_test()) return;
  if (semantics::is_cuda_guarded(context.model, literal) ||
      runs_under(literal, {"nccl", "cuda", "gpu"}) || is_about_cuda_tools(context, literal))
    return;
  reporter
      .report(literal,
              "NCCL drives CUDA devices only: on other machines torch.distributed refuses it or "
              "fails at the first "
              "collective.")
      .fix.push_back(make_fix(context, literal, use));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kString}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::nccl_backend
