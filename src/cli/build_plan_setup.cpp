#include <algorithm>

#include <fmt/format.h>

#include "base/file_system.h"
#include "base/text.h"
#include "cli/build_plan.h"
#include "source/project/check.h"
#include "source/rules/build/unconditional_cuda_extension/messages.h"

namespace torchport::cli {

namespace {

using rules::unconditional_cuda_extension::kForTorchWithCuda;

constexpr std::string_view kRule = "TP702";  // a CUDAExtension without a test for a toolkit
constexpr std::string_view kTorchForCpu = "torch-for-cpu";

base::Result<std::vector<project::Diagnostic>> unconditional_extensions(const std::string& path,
                                                                        std::string text) {
  project::Config config;
  config.select = {std::string(kRule)};
  auto options = project::check_options(config);
  if (!options) return tl::unexpected(options.error());
  return project::check_source(path, std::move(text), *options).diagnostics;
}

// The number of the first line that gives nvcc architectures of its own; 0 if there is none.
// torch.utils.cpp_extension ignores TORCH_CUDA_ARCH_LIST then.
std::size_t line_of_own_archs(std::string_view text) {
  std::size_t number = 0;
  for (std::string_view line : base::split(text, '\n')) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find("-gencode") != std::string_view::npos ||
        line.find("-arch=") != std::string_view::npos ||
        line.find("arch=compute_") != std::string_view::npos)
      return number;
  }
  return 0;
}

}  // namespace

base::Result<void> heed_setup(const std::string& path, build_gate::BuildPlan& plan) {
  const auto text = base::real_file_system().read(path);
  if (!text) return tl::unexpected(text.error());
  if (text->find("CUDAExtension") == std::string::npos) return {};
  const auto found = unconditional_extensions(path, *text);
  if (!found) return tl::unexpected(found.error());
  const bool builds_for_gpus = plan.outcome != build_gate::BuildOutcome::kCpu &&
                               plan.outcome != build_gate::BuildOutcome::kRefuse;
  const auto made = std::find_if(found->begin(), found->end(), [&](const auto& diagnostic) {
    return plan.code != kTorchForCpu || !diagnostic.message.starts_with(kForTorchWithCuda);
  });
  if (made != found->end() && plan.outcome == build_gate::BuildOutcome::kCpu) {
    const std::string place = fmt::format("{}:{}", path, made->line);
    plan.outcome = build_gate::BuildOutcome::kRefuse;
    plan.reason = fmt::format("{} makes a CUDAExtension whatever this machine has, and {}", place,
                              plan.reason);
    plan.code = "no-cpu-part";
    plan.environment.clear();
    plan.notes.push_back(
        fmt::format("for a build without CUDA the script needs a CppExtension for "
                    "that case: torchport explain {}",
                    kRule));
  }
  if (const std::size_t line = line_of_own_archs(*text); line != 0 && builds_for_gpus) {
    plan.environment.erase("TORCH_CUDA_ARCH_LIST");
    plan.notes.push_back(
        fmt::format("{}:{} gives nvcc architectures of its own, so that it ignores "
                    "TORCH_CUDA_ARCH_LIST: what is built is for those, not for the ones above",
                    path, line));
  }
  return {};
}

}  // namespace torchport::cli
