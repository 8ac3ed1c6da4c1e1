#include "host/build_plan.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "host/versions.h"

namespace torchport::host {

namespace {

// Why there is no CUDA code, and what would change that.
struct Obstacle {
  std::string code;
  std::string what;
  std::string mend;
};
template <class T>
using Or = tl::expected<T, Obstacle>;

enum class Wish : std::uint8_t { kAuto, kCuda, kCpu };
struct Demand {
  Wish wish = Wish::kAuto;
  std::string said;  // "FORCE_CUDA=1"
};

std::string variable(const BuildInputs& inputs, const std::string& name) {
  const auto found = inputs.environment.find(name);
  return found == inputs.environment.end() ? std::string() : std::string(base::trim(found->second));
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// FORCE_CUDA is what torchvision and others have: "1" demands, anything else does not. A value that
// reads as a yes must not be taken as a no.
Or<bool> forced(const BuildInputs& inputs) {
  const std::string value = base::lower(variable(inputs, "FORCE_CUDA"));
  if (one_of(value, {"1", "on", "yes", "true", "y"})) return true;
  if (one_of(value, {"", "0", "off", "no", "false", "n"})) return false;
  return tl::unexpected(Obstacle{"unclear-setting",
                                 fmt::format("FORCE_CUDA={} is neither yes nor no", value),
                                 "set FORCE_CUDA=1 or FORCE_CUDA=0"});
}

Or<Demand> demanded(const BuildInputs& inputs) {
  const auto force = forced(inputs);
  if (!force) return tl::unexpected(force.error());
  const std::string build = base::lower(variable(inputs, "TORCHPORT_BUILD"));
  if (!one_of(build, {"", "auto", "cuda", "cpu"}))
    return tl::unexpected(Obstacle{"unclear-setting",
                                   fmt::format("TORCHPORT_BUILD={} is not known", build),
                                   "set TORCHPORT_BUILD to cuda, cpu or auto"});
  if (build == "cpu" && *force)
    return tl::unexpected(Obstacle{"contradiction",
                                   "FORCE_CUDA=1 demands CUDA and TORCHPORT_BUILD=cpu forbids it",
                                   "unset one of them"});
  if (build == "cpu") return Demand{Wish::kCpu, "TORCHPORT_BUILD=cpu"};
  if (build == "cuda") return Demand{Wish::kCuda, "TORCHPORT_BUILD=cuda"};
  if (*force) return Demand{Wish::kCuda, "FORCE_CUDA=" + variable(inputs, "FORCE_CUDA")};
  return Demand{};
}

// "pip install torch==2.13.0 --index-url .../cu130" for a build of this torch and CUDA's major
// version; empty where none is known.
std::string install_line(const Torch& torch, std::string_view cuda) {
  const std::string version = torch.version.substr(0, torch.version.find('+'));
  std::string best;
  for (const TorchBuild& build : builds_of(version)) {
    if (!cuda.empty() && !same_major(build.cuda, cuda)) continue;
    if (!best.empty() && !build.by_default) continue;
    std::string index(build.cuda);
    std::erase(index, '.');
    best = fmt::format("pip install torch=={} --index-url https://download.pytorch.org/whl/cu{}",
                       version, index);
  }
  return best;
}

std::optional<Obstacle> unusable(const Torch& torch) {
  if (torch.root.empty())
    return Obstacle{"no-torch", "there is no torch to build against",
                    "install torch in the environment that builds, or name it: --python, --torch"};
  if (!torch.fault.empty())
    return Obstacle{"torch-damaged", fmt::format("torch in {}: {}", torch.root, torch.fault),
                    "install torch again"};
  return std::nullopt;
}

std::optional<Obstacle> without_cuda(const BuildInputs& inputs) {
  const Torch& torch = inputs.torch;
  if (!torch.cuda.empty()) return std::nullopt;
  const bool rocm = !torch.hip.empty();
  const char* built = rocm ? "ROCm" : torch.xpu.empty() ? "the CPU" : "XPU";
  std::string nvcc;
  for (const BuildToolkit& toolkit : inputs.toolkits)
    if (nvcc.empty()) nvcc = toolkit.nvcc;
  std::string line = install_line(torch, nvcc);
  if (line.empty()) line = install_line(torch, {});
  return Obstacle{
      rocm                ? "torch-for-rocm"
      : torch.xpu.empty() ? "torch-for-cpu"
                          : "torch-for-xpu",
      fmt::format("torch {} is built for {} and has no CUDA to link", torch.version, built),
      "for CUDA code build against a CUDA build of torch" + (line.empty() ? "" : ": " + line)};
}

std::string place(const BuildToolkit& toolkit) {
  return fmt::format("{} ({})", toolkit.path, toolkit.from);
}

// The variable that names the toolkit, as torch reads them; empty where none does.
std::string named_by(const BuildInputs& inputs) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (!variable(inputs, name).empty()) return name;
  return {};
}

// What keeps one toolkit from compiling for this torch.
std::optional<Obstacle> unfit(const BuildToolkit& toolkit, const Torch& torch) {
  const std::string mend =
      fmt::format("install the CUDA {} toolkit, or set CUDA_HOME to one", torch.cuda);
  if (toolkit.nvcc.empty())
    return Obstacle{"nvcc-broken", fmt::format("nvcc in {} does not run", place(toolkit)), mend};
  if (!links_with(toolkit.nvcc, torch.cuda)) {
    const std::string line = install_line(torch, toolkit.nvcc);
    return Obstacle{
        "nvcc-differs",
        fmt::format("nvcc {} in {} does not go with CUDA {}, which torch {} is built with",
                    toolkit.nvcc, place(toolkit), torch.cuda, torch.version),
        mend + (line.empty() ? "" : "; or build against another torch: " + line)};
  }
  if (!toolkit.headers)
    return Obstacle{"toolkit-incomplete",
                    fmt::format("{} has an nvcc and no include/cuda_runtime.h", place(toolkit)),
                    "set CUDA_HOME to the folder that has both"};
  return std::nullopt;
}

// Where a variable names one, it is that one. Else the first whose version is the torch's own, else
// the first that fits.
Or<BuildToolkit> choose_toolkit(const BuildInputs& inputs) {
  const Torch& torch = inputs.torch;
  const std::string named = named_by(inputs);
  const BuildToolkit* best = nullptr;
  std::optional<Obstacle> first;
  for (const BuildToolkit& toolkit : inputs.toolkits) {
    if (!named.empty() && toolkit.from != named) continue;
    if (auto obstacle = unfit(toolkit, torch)) {
      if (!first) first = std::move(obstacle);
      continue;
    }
    const bool exact = same_minor(toolkit.nvcc, torch.cuda);
    if (best == nullptr || (exact && !same_minor(best->nvcc, torch.cuda))) best = &toolkit;
  }
  if (best != nullptr) return *best;
  if (first) return tl::unexpected(*first);
  if (!named.empty())
    return tl::unexpected(
        Obstacle{"no-toolkit", fmt::format("{}={} has no nvcc", named, variable(inputs, named)),
                 fmt::format("set {} to a CUDA {} toolkit, or unset it", named, torch.cuda)});
  return tl::unexpected(
      Obstacle{"no-toolkit",
               fmt::format("torch {} is built with CUDA {}, and there is no nvcc here (looked in "
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
  const auto version = parse_version(compiler.version);
  if (newest == 0 || version.empty() || static_cast<std::uint64_t>(version.front()) <= newest)
    return std::nullopt;
  return Obstacle{"compiler-too-new",
                  fmt::format("nvcc {} takes {} up to {}, and {} is {}", toolkit.nvcc,
                              compiler.family, newest, compiler.path, compiler.version),
                  fmt::format("set NVCC_CCBIN to a {} {} or older", compiler.family, newest)};
}

// Where nobody asked for others: those that torch itself has code for, and PTX of the newest.
Or<std::vector<GpuArch>> default_archs(const BuildInputs& inputs, const NvccArchs& nvcc,
                                       BuildPlan& plan) {
  std::vector<GpuArch> archs;
  std::string missing;
  for (const std::string& name : inputs.torch.archs) {
    if (!name.starts_with("sm_")) continue;
    const auto number = parse_version(std::string_view(name).substr(3));
    if (number.empty()) continue;
    const GpuArch arch{number.front(), {}, false};
    if (nvcc.makes(arch))
      archs.push_back(arch);
    else
      missing += " " + to_text(arch);
  }
  if (!missing.empty())
    plan.notes.push_back(
        fmt::format("torch has code for{}, which this nvcc makes none for: left "
                    "out",
                    missing));
  if (inputs.torch.archs.empty()) {
    plan.notes.emplace_back(
        "torch's files do not tell its architectures: the first of each major "
        "version that this nvcc makes is built");
    if (const auto common = parse_arch_list("Common", nvcc)) archs = common->archs;
  }
  archs = merged(std::move(archs));
  if (archs.empty())
    return tl::unexpected(
        Obstacle{"no-common-arch",
                 fmt::format("nvcc {} makes code for none of torch's architectures ({})",
                             plan.toolkit.nvcc, fmt::join(inputs.torch.archs, " ")),
                 fmt::format("set TORCH_CUDA_ARCH_LIST, or CUDA_HOME to a CUDA {} toolkit",
                             inputs.torch.cuda)});
  archs.back().ptx = true;
  return archs;
}

// kUsage of the list is a refusal, whatever was demanded: who asks for an architecture wants it.
struct ArchChoice {
  std::vector<GpuArch> archs;
  std::optional<Obstacle> refused;
};
Or<ArchChoice> choose_archs(const BuildInputs& inputs, BuildPlan& plan) {
  const NvccArchs nvcc(plan.toolkit.nvcc, plan.toolkit.archs);
  const std::string text = variable(inputs, "TORCH_CUDA_ARCH_LIST");
  auto list = parse_arch_list(text, nvcc);
  if (!list)
    return ArchChoice{
        {},
        Obstacle{"arch-list",
                 fmt::format("TORCH_CUDA_ARCH_LIST={}: {} (nvcc {} in {})", text,
                             list.error().message, plan.toolkit.nvcc, plan.toolkit.path),
                 "name architectures that it makes, such as 8.0;9.0+PTX, or unset "
                 "TORCH_CUDA_ARCH_LIST"}};
  for (const std::string& name : list->left_out)
    plan.notes.push_back(
        fmt::format("TORCH_CUDA_ARCH_LIST: this nvcc makes not all of {}: left out", name));
  if (list->asks_for_gpu)
    plan.notes.emplace_back(
        "TORCH_CUDA_ARCH_LIST asks for the GPU of this machine, which says "
        "nothing of the machines to build for: torch's own architectures stand "
        "in for it");
  std::vector<GpuArch> archs = std::move(list->archs);
  if (archs.empty() || list->asks_for_gpu) {
    auto more = default_archs(inputs, nvcc, plan);
    if (!more) return tl::unexpected(more.error());
    archs.insert(archs.end(), more->begin(), more->end());
  }
  return ArchChoice{merged(std::move(archs)), {}};
}

void note_minor(const BuildInputs& inputs, BuildPlan& plan) {
  const std::string& nvcc = plan.toolkit.nvcc;
  const std::string& cuda = inputs.torch.cuda;
  if (same_minor(nvcc, cuda)) return;
  plan.notes.push_back(
      older(cuda, nvcc)
          ? fmt::format("nvcc {} is newer than torch's CUDA {}: code that calls what is new in {} "
                        "does not load, and its PTX needs a driver of {}",
                        nvcc, cuda, nvcc, nvcc)
          : fmt::format("nvcc {} is older than torch's CUDA {}: within a major version that works",
                        nvcc, cuda));
}

// ninja's -j, as torch reads it: what is no number is not heard.
void note_jobs(const BuildInputs& inputs, BuildPlan& plan) {
  const std::string jobs = variable(inputs, "MAX_JOBS");
  if (jobs.empty()) return;
  const bool number = jobs.size() < 6 && jobs.find_first_not_of("0123456789") == std::string::npos;
  if (number && jobs.find_first_not_of('0') != std::string::npos)
    plan.environment["MAX_JOBS"] = jobs;
  else
    plan.notes.push_back(fmt::format("MAX_JOBS={} is no number of jobs: not heeded", jobs));
}

BuildPlan refused(const Obstacle& why, const std::string& demand = {}) {
  BuildPlan plan;
  plan.code = why.code;
  plan.reason = demand.empty() ? why.what : fmt::format("{} demands CUDA: {}", demand, why.what);
  plan.mend = why.mend;
  return plan;
}

// No CUDA code can be had: a refusal where it is demanded.
BuildPlan no_cuda(const BuildInputs& inputs, const Demand& demand, const Obstacle& why) {
  if (demand.wish == Wish::kCuda) return refused(why, demand.said);
  BuildPlan plan = refused(why);
  plan.outcome = BuildOutcome::kCpu;
  note_jobs(inputs, plan);
  // The rules of public projects: FORCE_CUDA (torchvision, pytorch3d), a list (xformers).
  plan.environment["FORCE_CUDA"] = "0";
  plan.environment["TORCH_CUDA_ARCH_LIST"] = "";
  return plan;
}

}  // namespace

const std::vector<std::string>& build_variables() {
  static const std::vector<std::string> kNames{
      "TORCHPORT_BUILD", "FORCE_CUDA", "TORCH_CUDA_ARCH_LIST", "CUDA_HOME",
      "CUDA_PATH",       "MAX_JOBS",   "NVCC_PREPEND_FLAGS",   "NVCC_APPEND_FLAGS"};
  return kNames;
}

std::string_view to_text(BuildOutcome outcome) {
  switch (outcome) {
    case BuildOutcome::kCuda:
      return "cuda";
    case BuildOutcome::kCpu:
      return "cpu";
    case BuildOutcome::kRefuse:
      break;
  }
  return "refuse";
}

BuildPlan decide(const BuildInputs& inputs) {
  const auto demand = demanded(inputs);
  if (!demand) return refused(demand.error());
  if (const auto why = unusable(inputs.torch)) return refused(*why);
  if (demand->wish == Wish::kCpu)
    return no_cuda(inputs, *demand,
                   {"asked-for-cpu", "TORCHPORT_BUILD=cpu asks for it",
                    "for CUDA code unset TORCHPORT_BUILD"});
  if (const auto why = without_cuda(inputs)) return no_cuda(inputs, *demand, *why);
  const auto toolkit = choose_toolkit(inputs);
  if (!toolkit) return no_cuda(inputs, *demand, toolkit.error());
  if (const auto why = compiler_refused(inputs, *toolkit)) return no_cuda(inputs, *demand, *why);
  BuildPlan plan;
  plan.toolkit = *toolkit;
  const auto archs = choose_archs(inputs, plan);
  if (!archs) return no_cuda(inputs, *demand, archs.error());
  if (archs->refused) return refused(*archs->refused);
  plan.outcome = BuildOutcome::kCuda;
  plan.code = "nvcc-matches";
  plan.reason =
      fmt::format("torch {} is built with CUDA {}, and nvcc {} in {} compiles for it",
                  inputs.torch.version, inputs.torch.cuda, toolkit->nvcc, place(*toolkit));
  plan.archs = archs->archs;
  plan.environment = {{"CUDA_HOME", toolkit->path},
                      {"FORCE_CUDA", "1"},
                      {"TORCH_CUDA_ARCH_LIST", to_text(plan.archs)}};
  note_minor(inputs, plan);
  note_jobs(inputs, plan);
  return plan;
}

}  // namespace torchport::host
