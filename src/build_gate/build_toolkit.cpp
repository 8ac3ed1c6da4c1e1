// Chooses the toolkit that compiles for a torch, or says why none does.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "build_gate/build_obstacles.h"
#include "releases/cuda.h"
#include "releases/published.h"
#include "releases/table.h"
#include "versions/version.h"

namespace torchport::build_gate {

std::string install_line(const host::Torch& torch, std::string_view cuda) {
  const std::string version = versions::without_local(torch.version);
  std::string best;
  for (const releases::CudaBuild& build : releases::builds_of(version)) {
    if (!cuda.empty() && !versions::same_major(build.cuda, cuda)) continue;
    if (!best.empty() && !build.by_default) continue;
    best = "pip install " +
           releases::pip_arguments_to_replace(version, releases::variant_of_cuda(build.cuda));
  }
  return best;
}

std::string place(const BuildToolkit& toolkit) {
  return fmt::format("{} ({})", toolkit.path, toolkit.from);
}

namespace {

// The variable that names the toolkit, in torch's order; empty if none does.
std::string named_by(const BuildInputs& inputs) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (!variable(inputs, name).empty()) return name;
  return {};
}

// Which packages of PyPI have these headers. Since CUDA 13 their names have no CUDA in them.
std::string packages_with(const std::vector<std::string>& headers, std::string_view cuda) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kLibraries{
      {{"cublas", "nvidia-cublas"},
       {"cusparse", "nvidia-cusparse"},
       {"cusolver", "nvidia-cusolver"},
       {"thrust", "nvidia-cuda-cccl"}}};
  const auto numbers = versions::parse_version(cuda);
  const int major = numbers.empty() ? 0 : numbers.front();
  std::string packages;
  for (const auto& [start, package] : kLibraries)
    for (const std::string& header : headers)
      if (header.starts_with(start)) {
        packages += fmt::format(" {}{}", package, major >= 13 ? "" : fmt::format("-cu{}", major));
        break;
      }
  const std::string toolkit = fmt::format("install the whole toolkit of CUDA {}", cuda);
  return packages.empty()
             ? toolkit
             : fmt::format("{}, or install them beside torch: pip install{}", toolkit, packages);
}

// What keeps this toolkit from compiling for this torch.
std::optional<Obstacle> unfit(const BuildToolkit& toolkit, const BuildInputs& inputs) {
  const host::Torch& torch = inputs.torch;
  const std::string remedy =
      fmt::format("install the CUDA {} toolkit, or set CUDA_HOME to one", torch.cuda);
  if (toolkit.nvcc.empty())
    return Obstacle{"nvcc-broken", fmt::format("nvcc in {} does not run", place(toolkit)), remedy};
  if (!releases::links_with(toolkit.nvcc, torch.cuda)) {
    const std::string line = install_line(torch, toolkit.nvcc);
    return Obstacle{
        "nvcc-differs",
        fmt::format("nvcc {} in {} does not match CUDA {}, which torch {} is built with",
                    toolkit.nvcc, place(toolkit), torch.cuda, torch.version),
        remedy + (line.empty() ? "" : "; or build against another torch: " + line)};
  }
  if (!toolkit.headers)
    return Obstacle{"toolkit-incomplete",
                    fmt::format("{} has an nvcc but no include/cuda_runtime.h", place(toolkit)),
                    "set CUDA_HOME to the folder that has both"};
  if (const auto missing = missing_headers(inputs, toolkit); !missing.empty())
    return Obstacle{
        "headers-missing",
        fmt::format("torch's headers include {}, which {} does not have, nor a package of nvidia "
                    "beside torch",
                    fmt::join(missing, ", "), place(toolkit)),
        packages_with(missing, torch.cuda)};
  return std::nullopt;
}

}  // namespace

Or<BuildToolkit> choose_toolkit(const BuildInputs& inputs) {
  const host::Torch& torch = inputs.torch;
  const std::string named = named_by(inputs);
  const BuildToolkit* best = nullptr;
  std::optional<Obstacle> first;
  for (const BuildToolkit& toolkit : inputs.toolkits) {
    if (!named.empty() && toolkit.from != named) continue;
    if (auto obstacle = unfit(toolkit, inputs)) {
      if (!first) first = std::move(obstacle);
      continue;
    }
    const bool exact = versions::same_minor(toolkit.nvcc, torch.cuda);
    if (best == nullptr || (exact && !versions::same_minor(best->nvcc, torch.cuda)))
      best = &toolkit;
  }
  if (best != nullptr) return *best;
  if (first) return tl::unexpected(*first);
  if (!named.empty())
    return tl::unexpected(
        Obstacle{"no-toolkit", fmt::format("{}={} has no nvcc", named, variable(inputs, named)),
                 fmt::format("set {} to a CUDA {} toolkit, or unset it", named, torch.cuda)});
  return tl::unexpected(
      Obstacle{"no-toolkit",
               fmt::format("torch {} is built with CUDA {}, but nvcc was not found (looked in "
                           "CUDA_HOME, PATH, /usr/local/cuda*, the nvidia packages beside torch)",
                           torch.version, torch.cuda),
               fmt::format("install the CUDA {} toolkit, or set CUDA_HOME to one", torch.cuda)});
}

std::optional<Obstacle> compiler_refused(const BuildInputs& inputs, const BuildToolkit& toolkit) {
  for (const char* name : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"})
    if (variable(inputs, name).find("-allow-unsupported-compiler") != std::string::npos)
      return std::nullopt;
  const HostCompiler& compiler = inputs.compiler;
  const std::uint64_t newest = compiler.family == "gcc"     ? toolkit.newest_gcc
                               : compiler.family == "clang" ? toolkit.newest_clang
                                                            : 0;
  const auto version = versions::parse_version(compiler.version);
  if (newest == 0 || version.empty() || static_cast<std::uint64_t>(version.front()) <= newest)
    return std::nullopt;
  return Obstacle{"compiler-too-new",
                  fmt::format("nvcc {} accepts {} up to {}, but {} is {}", toolkit.nvcc,
                              compiler.family, newest, compiler.path, compiler.version),
                  fmt::format("set NVCC_CCBIN to a {} {} or older", compiler.family, newest)};
}

}  // namespace torchport::build_gate
