// TP115: torch.random.fork_rng with the numbers of CUDA devices.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/placement/common/device_text.h"
#include "source/semantics/guards.h"

namespace torchport::rules::rng_devices {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP115",
    .name = "rng-devices",
    .family = "placement",
    .severity = Severity::kError,
    .summary = "`fork_rng` keeps the random state of CUDA devices that may not be there",
    .void_with_cuda = true,
};

// Whether an element of a list is a CUDA device: `0`, `"cuda:0"`, torch.device("cuda").
bool is_cuda_device(const SemanticModel& model, Node element) {
  if (element.is(Kind::kInteger)) return true;
  if (element.is(Kind::kCall) && model.called(element) == "torch.device")
    element = syntax::argument(element, 0, "device");
  const auto text = model.constant_string(element);
  return text && semantics::is_cuda_string(*text);
}

// Whether the call is for CUDA, which it is without a word.
bool is_for_cuda(Node call) {
  std::string type;
  const Node given = syntax::argument(call, 4, "device_type");
  return !given || (syntax::string_value(given, type) && type == "cuda");
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  if (model.called(call) != "torch.random.fork_rng" || !is_for_cuda(call)) return;
  const Node devices = syntax::argument(call, 0, "devices");
  if (!devices.is_any(Kind::kList, Kind::kTuple)) return;
  const auto elements = devices.children();
  if (std::none_of(elements.begin(), elements.end(),
                   [&](Node element) { return is_cuda_device(model, element); }))
    return;
  if (syntax::argument(call, 1, "enabled") || semantics::is_cuda_guarded(model, call) ||
      (context.is_test() && is_cuda_territory(context, call)))
    return;
  const std::string text = fmt::format("{} if {}.cuda.is_available() else []", devices.text(),
                                       context.devices.torch_name());
  Fix fix{Applicability::kSafe, fmt::format("name them only with CUDA: `{}`", text), {}, {}};
  fix.edits = {replace(devices, text)};
  fix.needs.imports = {"import torch"};
  reporter
      .report(devices,
              "This asks CUDA for its random state, which raises \"Torch not compiled with CUDA "
              "enabled\" on a machine without it; the state of the CPU is kept without a word.")
      .fix.push_back(std::move(fix));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::rng_devices
