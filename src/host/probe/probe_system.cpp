#include <algorithm>
#include <array>

#include <sys/utsname.h>

#include "base/text.h"
#include "host/probe/probe.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

constexpr std::array<std::string_view, 6> kModules{"nvidia", "nouveau", "amdgpu",
                                                   "i915",   "xe",      "nvgpu"};
// The variables that decide what torch sees or how it is built. No other part of the environment is
// recorded, because it may contain secrets.
constexpr std::array<const char*, 26> kVariables{"CUDA_VISIBLE_DEVICES",
                                                 "NVIDIA_VISIBLE_DEVICES",
                                                 "NVIDIA_DRIVER_CAPABILITIES",
                                                 "HIP_VISIBLE_DEVICES",
                                                 "ROCR_VISIBLE_DEVICES",
                                                 "HSA_OVERRIDE_GFX_VERSION",
                                                 "ZE_AFFINITY_MASK",
                                                 "ONEAPI_DEVICE_SELECTOR",
                                                 "PYTORCH_ENABLE_MPS_FALLBACK",
                                                 "CUDA_HOME",
                                                 "CUDA_PATH",
                                                 "ROCM_HOME",
                                                 "LD_LIBRARY_PATH",
                                                 "LD_PRELOAD",
                                                 "VIRTUAL_ENV",
                                                 "CONDA_PREFIX",
                                                 "PYTHONPATH",
                                                 "TORCH_CUDA_ARCH_LIST",
                                                 "FORCE_CUDA",
                                                 "KUBERNETES_SERVICE_HOST",
                                                 "TORCHPORT_VIRTUAL",
                                                 "PYTORCH_NVML_BASED_CUDA_CHECK",
                                                 "PYTHONNOUSERSITE",
                                                 "SLURM_JOB_ID",
                                                 "SLURM_JOB_GPUS",
                                                 "SLURM_STEP_GPUS"};

std::string unquoted(std::string_view text) {
  text = base::trim(text);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

std::string pretty_name(const std::string& os_release) {
  for (const std::string_view line : base::split(os_release, '\n'))
    if (line.starts_with("PRETTY_NAME=")) return unquoted(line.substr(12));
  return {};
}

std::string container_of(const Machine& machine, const Facts& facts) {
  const auto there = [&](const char* path) {
    return machine.files->status(path, true).type != base::FileType::kMissing;
  };
  if (facts.variable("KUBERNETES_SERVICE_HOST")) return "kubernetes";
  if (there("/run/.containerenv")) return "podman";
  if (there("/.dockerenv")) return "docker";
  if (there("/.singularity.d")) return "apptainer";
  // The name that systemd in the container was given: "lxc", "systemd-nspawn", "docker".
  std::string manager(base::trim(read_text(machine, "/run/systemd/container")));
  if (!manager.empty() && manager.size() < 32) return manager;
  // With control groups of version 1 the path shows which manager made the container.
  const std::string groups = read_text(machine, "/proc/1/cgroup");
  if (groups.find("kubepods") != std::string::npos) return "kubernetes";
  for (const char* name : {"docker", "libpod", "lxc"})
    if (groups.find(std::string("/") + name) != std::string::npos)
      return std::string_view(name) == "libpod" ? "podman" : name;
  return {};
}

// Reads a number from a file. "max", -1 and numbers beyond any machine's size mean no limit.
std::uint64_t number_in(const Machine& machine, const std::string& path) {
  const std::string text = read_text(machine, path);
  const std::string_view word = base::trim(std::string_view(text).substr(0, text.find(' ')));
  if (word.empty() || word.size() > 15 ||
      word.find_first_not_of("0123456789") != std::string_view::npos)
    return 0;
  return std::stoull(std::string(word));
}

// Reads limits from version 2 of control groups, then from version 1.
void probe_limits(const Machine& machine, Facts& facts) {
  facts.memory_limit = number_in(machine, "/sys/fs/cgroup/memory.max");
  if (facts.memory_limit == 0)
    facts.memory_limit = number_in(machine, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
  // "150000 100000": the microseconds of CPU time in each period.
  const std::string text = read_text(machine, "/sys/fs/cgroup/cpu.max");
  const auto words = base::split(base::trim(text), ' ');
  std::uint64_t quota = number_in(machine, "/sys/fs/cgroup/cpu.max");
  std::uint64_t period = 0;
  if (words.size() == 2 && !versions::parse_version(words[1]).empty())
    period = static_cast<std::uint64_t>(std::max(0, versions::parse_version(words[1]).front()));
  if (quota == 0) {
    quota = number_in(machine, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    period = number_in(machine, "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  }
  if (quota > 0 && period > 0 && quota < 1'000'000'000'000) facts.cpu_limit = quota * 1000 / period;
}

// The firmware's variable SecureBoot: four bytes of attributes, then 1 if it is on.
bool secure_boot(const Machine& machine) {
  const std::string variable = read_text(
      machine, "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
  return variable.size() == 5 && variable.back() == '\x01';
}

// Finds CUDA libraries in folders of LD_LIBRARY_PATH, which are loaded before those of torch's
// wheels.
void probe_shadowing(const Machine& machine, Facts& facts) {
  const auto path = facts.variable("LD_LIBRARY_PATH");
  if (!path) return;
  constexpr std::array<std::string_view, 4> kLibraries{"libcudnn.so.", "libcublas.so.",
                                                       "libnccl.so.", "libcudart.so."};
  for (const std::string_view folder : base::split(*path, ':')) {
    const auto entries = machine.files->list(std::string(folder));
    if (folder.empty() || !entries) continue;
    for (const base::DirectoryEntry& entry : *entries)
      for (const std::string_view library : kLibraries)
        // Counts libcudnn.so.9, and not libcudnn.so.9.1.0 beside it.
        if (entry.name.starts_with(library) &&
            entry.name.find('.', library.size()) == std::string::npos &&
            facts.shadowing.size() < 32)
          facts.shadowing.push_back(base::join_path(folder, entry.name));
  }
}

}  // namespace

std::string read_text(const Machine& machine, const std::string& path) {
  return machine.files->read(path).value_or(std::string());
}

void probe_system(const Machine& machine, Facts& facts) {
  utsname names{};
  if (uname(&names) == 0) {
    facts.system = names.sysname;
    facts.kernel = names.release;
    facts.machine = names.machine;
  }
  facts.release = pretty_name(read_text(machine, "/etc/os-release"));
  facts.wsl =
      base::lower(read_text(machine, "/proc/version")).find("microsoft") != std::string::npos;
  facts.secure_boot = secure_boot(machine);
  for (const char* name : kVariables) {
    const auto found = machine.environment.find(name);
    if (found != machine.environment.end()) facts.environment.insert(*found);
  }
  facts.container = container_of(machine, facts);
  probe_limits(machine, facts);
  probe_shadowing(machine, facts);
  const std::string modules = read_text(machine, "/proc/modules");
  for (const std::string_view line : base::split(modules, '\n')) {
    const std::string_view name = line.substr(0, line.find(' '));
    if (std::find(kModules.begin(), kModules.end(), name) != kModules.end())
      facts.modules.emplace_back(name);
  }
}

std::vector<std::string> library_folders(const Machine& machine, const Facts& facts) {
  std::vector<std::string> folders;
  const auto path = machine.environment.find("LD_LIBRARY_PATH");
  if (path != machine.environment.end())
    for (const std::string_view folder : base::split(path->second, ':'))
      if (!folder.empty()) folders.emplace_back(folder);
  if (facts.wsl) folders.emplace_back("/usr/lib/wsl/lib");
  const std::string triplet = facts.machine + "-linux-gnu";
  for (const std::string& folder :
       {"/usr/lib/" + triplet, "/lib/" + triplet, "/usr/lib/" + triplet + "/nvidia",
        "/usr/lib/" + triplet + "/tegra", "/usr/lib/" + triplet + "/nvidia/current",
        std::string("/usr/lib64"), std::string("/usr/lib"), std::string("/usr/local/lib"),
        std::string("/run/opengl-driver/lib"), std::string("/usr/local/nvidia/lib64")})
    folders.push_back(folder);
  return folders;
}

Facts probe(const Machine& machine) {
  Facts facts;
  probe_system(machine, facts);
  probe_devices(machine, facts);
  probe_nvidia(machine, facts);
  probe_toolkits(machine, facts);
  probe_torch(machine, facts);
  return facts;
}

}  // namespace torchport::host
