// Decides for a torch that is built for AMD's or Intel's GPUs: hipcc or icpx of its version, and
// their headers.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "build_gate/build_obstacles.h"
#include "devices/device_kind.h"
#include "host/probe/probe.h"
#include "versions/version.h"

namespace torchport::build_gate {

namespace {

constexpr std::string_view kRocm = "rocm";
constexpr std::string_view kXpu = "xpu";

// What is known of the compiler of one kind of device.
struct CompilerKind {
  std::string_view kind;
  std::string_view name;     // "ROCm"
  std::string_view program;  // "hipcc"
  // Before the version in what --version prints.
  std::string_view before_version;
  // Variables that name its folder, and folders below a variable or the root where it may be.
  std::vector<std::pair<std::string_view, std::string_view>> places;
  std::vector<std::string> usual;
  std::string_view remedy;
};

// torch.utils.cpp_extension looks in ROCM_HOME, ROCM_PATH, PATH and /opt/rocm for hipcc, and in
// PATH for icpx. oneAPI's setvars.sh sets CMPLR_ROOT and ONEAPI_ROOT.
const std::array<CompilerKind, 2>& compiler_kinds() {
  static const std::array<CompilerKind, 2> kKinds{
      {{kRocm,
        "ROCm",
        "hipcc",
        "HIP version: ",
        {{"ROCM_HOME", ""}, {"ROCM_PATH", ""}},
        {"/opt/rocm"},
        "install ROCm's compiler and libraries of this version (apt install rocm-dev), or set "
        "ROCM_HOME to them"},
       {kXpu,
        "XPU",
        "icpx",
        "Compiler ",
        {{"CMPLR_ROOT", ""}, {"ONEAPI_ROOT", "/compiler/latest"}},
        {"/opt/intel/oneapi/compiler/latest"},
        "install Intel's DPC++ compiler of this version (apt install "
        "intel-oneapi-compiler-dpcpp-cpp) "
        "and source /opt/intel/oneapi/setvars.sh"}}};
  return kKinds;
}

const CompilerKind& compiler_kind(std::string_view kind) {
  return compiler_kinds()[kind == kXpu ? 1 : 0];
}

// torch.version.xpu is the SYCL compiler's version as one number: "20250302" is 2025.3.2.
std::string version_for(const host::Torch& torch, std::string_view kind) {
  if (kind == kRocm) return torch.hip;
  std::string number = torch.version_of(kXpu);
  if (number.size() != 8 || number.find_first_not_of("0123456789") != std::string::npos)
    return number;
  return fmt::format("{}.{}.{}", number.substr(0, 4), std::stoi(number.substr(4, 2)),
                     std::stoi(number.substr(6, 2)));
}

std::string where(const DeviceCompiler& compiler) {
  return fmt::format("{} ({})", compiler.path, compiler.from);
}

std::optional<Obstacle> unfit_compiler(const DeviceCompiler& compiler, const host::Torch& torch) {
  const CompilerKind& kind = compiler_kind(compiler.kind);
  const std::string program(kind.program);
  const std::string wanted = version_for(torch, compiler.kind);
  const std::string remedy(kind.remedy);
  if (compiler.version.empty())
    return Obstacle{program + "-broken",
                    fmt::format("{} in {} does not run", program, where(compiler)), remedy};
  if (!versions::same_major(compiler.version, wanted))
    return Obstacle{
        program + "-differs",
        fmt::format("{} {} in {} does not match {} {}, which torch {} is built with", program,
                    compiler.version, where(compiler), kind.name, wanted, torch.version),
        remedy};
  if (!compiler.lacks.empty())
    return Obstacle{"headers-missing",
                    fmt::format("torch's headers include {}, which {} does not have",
                                fmt::join(compiler.lacks, ", "), where(compiler)),
                    remedy};
  return std::nullopt;
}

std::vector<std::string> listed(const std::string& text) {
  std::string separated = text;
  std::replace_if(
      separated.begin(), separated.end(), [](char c) { return c == ',' || c == ' '; }, ';');
  std::vector<std::string> words;
  for (const std::string_view word : base::split(separated, ';'))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

// PYTORCH_ROCM_ARCH or TORCH_XPU_ARCH_LIST if set, else the architectures of torch's own code.
std::vector<std::string> device_archs(const BuildInputs& inputs, std::string_view kind) {
  auto archs =
      listed(variable(inputs, kind == kRocm ? "PYTORCH_ROCM_ARCH" : "TORCH_XPU_ARCH_LIST"));
  return archs.empty() ? inputs.torch.archs : archs;
}

void tell_environment(BuildPlan& plan) {
  const std::string archs = fmt::format("{}", fmt::join(plan.device_archs, ";"));
  if (plan.compiler.kind == kRocm) {
    plan.environment = {{"ROCM_HOME", plan.compiler.path}, {"FORCE_CUDA", "1"}};
    if (!archs.empty()) plan.environment["PYTORCH_ROCM_ARCH"] = archs;
    return;
  }
  plan.environment = {{"CMPLR_ROOT", plan.compiler.path}};
  if (!archs.empty())
    plan.environment["TORCH_XPU_ARCH_LIST"] = fmt::format("{}", fmt::join(plan.device_archs, ","));
  if (plan.compiler.from != "PATH")
    plan.notes.push_back(fmt::format(
        "torch looks for icpx in PATH: source setvars.sh of oneAPI, or put {}/bin into PATH",
        plan.compiler.path));
  if (plan.device_archs.empty())
    plan.notes.emplace_back(
        "TORCH_XPU_ARCH_LIST is not set: the driver compiles the code for its GPU at the first "
        "run");
}

std::string program_in_path(const host::Machine& machine, std::string_view name) {
  const auto path = machine.environment.find("PATH");
  if (path == machine.environment.end()) return {};
  for (const std::string_view folder : base::split(path->second, ':')) {
    const std::string program = base::join_path(folder, name);
    if (folder.empty() || machine.files->status(program, true).type != base::FileType::kRegular)
      continue;
    return machine.files->canonical(program).value_or(program);
  }
  return {};
}

std::string version_in(std::string_view text, std::string_view before) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + before.size());
  std::string version(rest.substr(0, rest.find_first_not_of("0123456789.")));
  return version.size() <= 32 && versions::parse_version(version).size() >= 2 ? version
                                                                              : std::string();
}

void add_compiler(const host::Machine& machine, const CompilerKind& kind, const std::string& folder,
                  std::string_view from, std::vector<DeviceCompiler>& found) {
  const std::string program = fmt::format("{}/bin/{}", folder, kind.program);
  if (machine.files->status(program, true).type != base::FileType::kRegular) return;
  DeviceCompiler compiler{std::string(kind.kind), folder, std::string(from), {}};
  if (std::any_of(found.begin(), found.end(),
                  [&](const DeviceCompiler& one) { return one.path == folder; }))
    return;
  compiler.version = version_in(machine.output({program, "--version"}), kind.before_version);
  for (const std::string& header : device_headers(kind.kind))
    if (machine.files->status(base::join_path(folder + "/include", header), true).type !=
        base::FileType::kRegular)
      compiler.lacks.push_back(header);
  found.push_back(std::move(compiler));
}

}  // namespace

// As of torch 2.13: ATen/cuda/CUDAContextLight.h with the names that hipify gives, and
// c10/xpu/XPUStream.h.
const std::vector<std::string>& device_headers(std::string_view kind) {
  static const std::vector<std::string> kOfRocm{"hip/hip_runtime.h",     "hipblas/hipblas.h",
                                                "hipblaslt/hipblaslt.h", "hipsolver/hipsolver.h",
                                                "hipsparse/hipsparse.h", "thrust/complex.h"};
  static const std::vector<std::string> kOfXpu{"sycl/sycl.hpp"};
  return kind == kXpu ? kOfXpu : kOfRocm;
}

std::string device_of(const host::Torch& torch) {
  if (!torch.hip.empty()) return std::string(kRocm);
  const devices::DeviceKind* kind = torch.kind();
  return kind != nullptr && kind->name == kXpu ? std::string(kXpu) : std::string();
}

std::optional<Obstacle> plan_for_device(const BuildInputs& inputs, BuildPlan& plan) {
  const std::string device = device_of(inputs.torch);
  const CompilerKind& kind = compiler_kind(device);
  const std::string wanted = version_for(inputs.torch, device);
  std::optional<Obstacle> first;
  const DeviceCompiler* best = nullptr;
  for (const DeviceCompiler& compiler : inputs.compilers) {
    if (compiler.kind != device) continue;
    auto obstacle = unfit_compiler(compiler, inputs.torch);
    if (obstacle) {
      if (!first) first = std::move(obstacle);
      continue;
    }
    if (best == nullptr || (versions::same_minor(compiler.version, wanted) &&
                            !versions::same_minor(best->version, wanted)))
      best = &compiler;
  }
  if (best == nullptr && first) return first;
  if (best == nullptr)
    return Obstacle{
        fmt::format("no-{}", kind.program),
        fmt::format("torch {} is built with {} {}, but {} was not found (looked in {}, "
                    "PATH, {})",
                    inputs.torch.version, kind.name, wanted, kind.program,
                    device == kRocm ? "ROCM_HOME, ROCM_PATH" : "CMPLR_ROOT, ONEAPI_ROOT",
                    kind.usual.front()),
        std::string(kind.remedy)};
  plan.outcome = device == kRocm ? BuildOutcome::kRocm : BuildOutcome::kXpu;
  plan.code = fmt::format("{}-matches", kind.program);
  plan.reason = fmt::format("torch {} is built with {} {}, and {} {} in {} compiles for it",
                            inputs.torch.version, kind.name, wanted, kind.program, best->version,
                            where(*best));
  plan.compiler = *best;
  plan.device_archs = device_archs(inputs, device);
  tell_environment(plan);
  if (!versions::same_minor(best->version, wanted))
    plan.notes.push_back(fmt::format("{} {} has another minor version than torch's {}",
                                     kind.program, best->version, wanted));
  return std::nullopt;
}

std::vector<DeviceCompiler> device_compilers(const host::Machine& machine) {
  std::vector<DeviceCompiler> all;
  for (const CompilerKind& kind : compiler_kinds()) {
    std::vector<DeviceCompiler> found;
    for (const auto& [name, below] : kind.places) {
      const auto value = machine.environment.find(std::string(name));
      if (value != machine.environment.end() && !value->second.empty())
        add_compiler(machine, kind, value->second + std::string(below), name, found);
    }
    if (const std::string program = program_in_path(machine, kind.program); !program.empty())
      add_compiler(machine, kind, std::string(base::parent_path(base::parent_path(program))),
                   "PATH", found);
    for (const std::string& folder : kind.usual) add_compiler(machine, kind, folder, folder, found);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace torchport::build_gate
