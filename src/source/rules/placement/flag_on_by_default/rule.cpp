// TP114: a flag that turns CUDA on wherever the program runs.
#include "source/rules/rule.h"

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/semantics/cuda_switches.h"

namespace torchport::rules::flag_on_by_default {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP114",
    .name = "flag-on-by-default",
    .family = "placement",
    .severity = Severity::kError,
    .summary = "a flag turns CUDA on by default, and nothing asks whether there is CUDA",
};

Fix ask_for_cuda(const PythonContext& context, const semantics::CudaSwitch& found) {
  const std::string& torch = context.devices.torch_name();
  const std::string asked =
      found.number ? fmt::format("{} if {}.cuda.is_available() else -1", found.value.text(), torch)
                   : fmt::format("{}{}.cuda.is_available()", found.on ? "" : "not ", torch);
  Fix fix;
  fix.applicability = Applicability::kSafe;
  fix.needs.imports = {"import torch"};
  if (found.value) {
    fix.title = fmt::format("replace `{}` with `{}`", found.value.text(), asked);
    fix.edits = {replace(found.value, asked)};
  } else {
    fix.title = fmt::format("add `default={}`", asked);
    fix.edits = {add_argument(found.declared, "default=" + asked)};
  }
  return fix;
}

void check(const PythonContext& context, Node /*module*/, Reporter& reporter) {
  if (context.is_test()) return;
  for (const semantics::CudaSwitch& found : context.model.facts<semantics::CudaSwitches>().all()) {
    reporter
        .report(found.declared,
                fmt::format("`{}` turns CUDA on, and nothing asks whether there is CUDA: as it is, "
                            "the program raises \"Torch not compiled with CUDA enabled\" on a "
                            "machine without it.",
                            found.name))
        .fix.push_back(ask_for_cuda(context, found));
  }
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kModule}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::flag_on_by_default
