// Chooses the architectures that are built.
#include <fmt/format.h>

#include "build_gate/build_obstacles.h"
#include "versions/version.h"

namespace torchport::build_gate {

namespace {

// The default architectures: those that torch itself has code for, and PTX of the newest.
Or<std::vector<releases::GpuArch>> default_archs(const BuildInputs& inputs,
                                                 const releases::NvccArchs& nvcc, BuildPlan& plan) {
  std::vector<releases::GpuArch> archs;
  std::string missing;
  for (const std::string& name : inputs.torch.archs) {
    if (!name.starts_with("sm_")) continue;
    const auto number = versions::parse_version(std::string_view(name).substr(3));
    if (number.empty()) continue;
    const releases::GpuArch arch{number.front(), {}, false};
    if (nvcc.makes(arch))
      archs.push_back(arch);
    else
      missing += " " + to_text(arch);
  }
  if (!missing.empty())
    plan.notes.push_back(
        fmt::format("this nvcc cannot compile for{}, which torch has code for: the extension is "
                    "built without them",
                    missing));
  if (inputs.torch.archs.empty()) {
    plan.notes.emplace_back(
        "torch's files do not say its architectures: the first one of each major version that this "
        "nvcc supports is built");
    if (const auto common = releases::parse_arch_list("Common", nvcc)) archs = common->archs;
  }
  archs = releases::merged(std::move(archs));
  if (archs.empty())
    return tl::unexpected(
        Obstacle{"no-common-arch",
                 fmt::format("nvcc {} cannot compile for any of torch's architectures ({})",
                             plan.toolkit.nvcc, fmt::join(inputs.torch.archs, " ")),
                 fmt::format("set TORCH_CUDA_ARCH_LIST, or CUDA_HOME to a CUDA {} toolkit",
                             inputs.torch.cuda)});
  archs.back().ptx = true;
  return archs;
}

}  // namespace

Or<ArchChoice> choose_archs(const BuildInputs& inputs, BuildPlan& plan) {
  const releases::NvccArchs nvcc(plan.toolkit.nvcc, plan.toolkit.archs);
  const std::string text = variable(inputs, "TORCH_CUDA_ARCH_LIST");
  auto list = releases::parse_arch_list(text, nvcc);
  if (!list)
    return ArchChoice{
        {},
        Obstacle{"arch-list",
                 fmt::format("TORCH_CUDA_ARCH_LIST={}: {} (nvcc {} in {})", text,
                             list.error().message, plan.toolkit.nvcc, plan.toolkit.path),
                 "name architectures that this nvcc supports, such as 8.0;9.0+PTX, or unset "
                 "TORCH_CUDA_ARCH_LIST"}};
  for (const std::string& name : list->left_out)
    plan.notes.push_back(fmt::format(
        "TORCH_CUDA_ARCH_LIST: this nvcc does not support all of {}: these are left out", name));
  if (list->asks_for_gpu)
    plan.notes.emplace_back(
        "TORCH_CUDA_ARCH_LIST asks for this machine's GPU, but the extension may run on other "
        "machines: torch's own architectures are built instead");
  std::vector<releases::GpuArch> archs = std::move(list->archs);
  if (archs.empty() || list->asks_for_gpu) {
    auto more = default_archs(inputs, nvcc, plan);
    if (!more) return tl::unexpected(more.error());
    archs.insert(archs.end(), more->begin(), more->end());
  }
  return ArchChoice{releases::merged(std::move(archs)), {}};
}

}  // namespace torchport::build_gate
