#include "build_gate/build_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "build_gate/build_obstacles.h"
#include "devices/device_kind.h"
#include "versions/version.h"

namespace torchport::build_gate {

std::string variable(const BuildInputs& inputs, const std::string& name) {
  const auto found = inputs.environment.find(name);
  return found == inputs.environment.end() ? std::string() : std::string(base::trim(found->second));
}

namespace {

enum class Wish : std::uint8_t { kAuto, kGpu, kCpu };
struct Demand {
  Wish wish = Wish::kAuto;
  std::string said;    // "FORCE_CUDA=1"
  std::string device;  // "cuda", "rocm", "xpu" if no other one will do
};

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// FORCE_CUDA is the variable of torchvision and others: "1" demands CUDA, other values do not. A
// value that looks like a yes must not be taken as a no, so it is refused.
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
  if (!one_of(build, {"", "auto", "cuda", "rocm", "xpu", "cpu"}))
    return tl::unexpected(Obstacle{"unclear-setting",
                                   fmt::format("TORCHPORT_BUILD={} is not a known value", build),
                                   "set TORCHPORT_BUILD to cuda, rocm, xpu, cpu or auto"});
  if (build == "cpu" && *force)
    return tl::unexpected(Obstacle{"contradiction",
                                   "FORCE_CUDA=1 demands CUDA and TORCHPORT_BUILD=cpu forbids it",
                                   "unset one of them"});
  if (build == "cpu") return Demand{Wish::kCpu, "TORCHPORT_BUILD=cpu", {}};
  if (one_of(build, {"cuda", "rocm", "xpu"}))
    return Demand{Wish::kGpu, "TORCHPORT_BUILD=" + build, build};
  // The projects that read it also build their code for ROCm then.
  if (*force) return Demand{Wish::kGpu, "FORCE_CUDA=" + variable(inputs, "FORCE_CUDA"), {}};
  return Demand{};
}

std::optional<Obstacle> unusable(const host::Torch& torch) {
  if (torch.root.empty())
    return Obstacle{"no-torch", "torch was not found",
                    "install torch in the environment that builds the extension, or name one with "
                    "--python or --torch"};
  if (!torch.fault.empty())
    return Obstacle{"torch-damaged", fmt::format("torch in {}: {}", torch.root, torch.fault),
                    "install torch again"};
  return std::nullopt;
}

std::optional<Obstacle> without_cuda(const BuildInputs& inputs) {
  const host::Torch& torch = inputs.torch;
  if (!torch.cuda.empty()) return std::nullopt;
  std::string code = "torch-for-cpu";
  std::string built = "the CPU";
  if (!torch.hip.empty()) {
    code = "torch-for-rocm";
    built = "ROCm";
  } else if (const devices::DeviceKind* kind = torch.kind(); kind != nullptr) {
    code = fmt::format("torch-for-{}", kind->name);
    built = kind->backend;
  }
  std::string nvcc;
  for (const BuildToolkit& toolkit : inputs.toolkits)
    if (nvcc.empty()) nvcc = toolkit.nvcc;
  std::string line = install_line(torch, nvcc);
  if (line.empty()) line = install_line(torch, {});
  return Obstacle{
      std::move(code),
      fmt::format("torch {} is built for {} and has no CUDA to link", torch.version, built),
      "for CUDA code build against a CUDA build of torch" + (line.empty() ? "" : ": " + line)};
}

void note_minor(const BuildInputs& inputs, BuildPlan& plan) {
  const std::string& nvcc = plan.toolkit.nvcc;
  const std::string& cuda = inputs.torch.cuda;
  if (versions::same_minor(nvcc, cuda)) return;
  plan.notes.push_back(
      versions::older(cuda, nvcc)
          ? fmt::format("nvcc {} is newer than torch's CUDA {}: code that calls what is new in {} "
                        "does not load, and its PTX needs a driver of {}",
                        nvcc, cuda, nvcc, nvcc)
          : fmt::format("nvcc {} is older than torch's CUDA {}: within a major version that works",
                        nvcc, cuda));
}

// Reads ninja's -j as torch does, which ignores a value that is not a number.
void note_jobs(const BuildInputs& inputs, BuildPlan& plan) {
  const std::string jobs = variable(inputs, "MAX_JOBS");
  if (jobs.empty()) return;
  const bool number = jobs.size() < 6 && jobs.find_first_not_of("0123456789") == std::string::npos;
  if (number && jobs.find_first_not_of('0') != std::string::npos)
    plan.environment["MAX_JOBS"] = jobs;
  else
    plan.notes.push_back(fmt::format("MAX_JOBS={} is not a number of jobs and is ignored", jobs));
}

std::string_view name_of(std::string_view device) {
  if (device == "rocm") return "ROCm";
  return device == "xpu" ? "XPU" : "CUDA";
}

BuildPlan refused(const Obstacle& why, const std::string& demand = {},
                  std::string_view device = {}) {
  BuildPlan plan;
  plan.code = why.code;
  plan.reason = demand.empty()
                    ? why.what
                    : fmt::format("{} demands {}: {}", demand, name_of(device), why.what);
  plan.remedy = why.remedy;
  return plan;
}

// CUDA code cannot be built: refuses if it is demanded.
BuildPlan no_cuda(const BuildInputs& inputs, const Demand& demand, const Obstacle& why) {
  if (demand.wish == Wish::kGpu)
    return refused(why, demand.said, demand.device.empty() ? "cuda" : demand.device);
  BuildPlan plan = refused(why);
  plan.outcome = BuildOutcome::kCpu;
  note_jobs(inputs, plan);
  // Variables that public projects read: FORCE_CUDA (torchvision, pytorch3d), a list of
  // architectures (xformers).
  plan.environment["FORCE_CUDA"] = "0";
  plan.environment["TORCH_CUDA_ARCH_LIST"] = "";
  return plan;
}

// For a torch that is built for AMD's or Intel's GPUs.
BuildPlan for_device(const BuildInputs& inputs, const Demand& demand) {
  BuildPlan plan;
  if (const auto why = plan_for_device(inputs, plan)) return no_cuda(inputs, demand, *why);
  note_jobs(inputs, plan);
  return plan;
}

// A demand for ROCm or XPU that this torch cannot meet.
Obstacle built_otherwise(const host::Torch& torch, const std::string& device) {
  const std::string own = device_of(torch);
  const std::string built = !own.empty() ? own : torch.cuda.empty() ? "cpu" : "cuda";
  return {"torch-for-" + built,
          fmt::format("torch {} is built for {}", torch.version,
                      built == "cpu" ? "the CPU" : name_of(built)),
          fmt::format("build against a torch for {}", name_of(device))};
}

}  // namespace

const std::vector<std::string>& build_variables() {
  static const std::vector<std::string> kNames{
      "TORCHPORT_BUILD", "FORCE_CUDA",         "TORCH_CUDA_ARCH_LIST", "CUDA_HOME", "CUDA_PATH",
      "MAX_JOBS",        "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS",    "CPATH",     "LIBRARY_PATH"};
  return kNames;
}

std::string_view to_text(BuildOutcome outcome) {
  switch (outcome) {
    case BuildOutcome::kCuda:
      return "cuda";
    case BuildOutcome::kRocm:
      return "rocm";
    case BuildOutcome::kXpu:
      return "xpu";
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
  const std::string device = device_of(inputs.torch);
  if (!demand->device.empty() && demand->device != "cuda" && demand->device != device)
    return no_cuda(inputs, *demand, built_otherwise(inputs.torch, demand->device));
  if (!device.empty() && demand->device != "cuda") return for_device(inputs, *demand);
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
  add_search_paths(inputs, plan);
  note_jobs(inputs, plan);
  return plan;
}

}  // namespace torchport::build_gate
