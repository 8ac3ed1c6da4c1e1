#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "host/probe/nvml.h"
#include "host/probe/probe.h"
#include "releases/cuda.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

// The version in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ...".
std::string version_in(const std::string& text) {
  for (const std::string_view word :
       base::split(std::string_view(text).substr(0, text.find('\n')), ' ')) {
    const auto numbers = versions::parse_version(word);
    if (numbers.size() >= 2 && numbers.front() >= 100) return std::string(word);
  }
  return {};
}

// The version of libcuda.so.1, which is a link to libcuda.so.VERSION beside it.
std::string library_version(const Machine& machine, const Facts& facts) {
  for (const std::string& folder : library_folders(machine, facts)) {
    const std::string link = base::join_path(folder, "libcuda.so.1");
    if (machine.files->status(link, true).type != base::FileType::kRegular) continue;
    const auto target = machine.files->canonical(link);
    const std::string_view name = target ? base::file_name(*target) : std::string_view();
    const std::string version(name.starts_with("libcuda.so.") ? name.substr(11)
                                                              : std::string_view());
    // In WSL and in some containers its name has no version.
    return versions::parse_version(version).size() >= 2 ? version : std::string("unknown");
  }
  return {};
}

// Whether this container of WSL was given libnvdxgdmal.so.1: beside libdxcore.so, or in a folder of
// Windows' driver.
std::string dxgdmal_in(const Machine& machine, const Facts& facts) {
  constexpr std::string_view kName = "libnvdxgdmal.so.1";
  constexpr const char* kDrivers = "/usr/lib/wsl/drivers";
  std::vector<std::string> folders = library_folders(machine, facts);
  if (const auto drivers = machine.files->list(kDrivers))
    for (const base::DirectoryEntry& entry : *drivers)
      folders.push_back(base::join_path(kDrivers, entry.name));
  const bool found = std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return machine.files->status(base::join_path(folder, kName), true).type ==
           base::FileType::kRegular;
  });
  return found ? "found" : "not found";
}

// Reads names from "Model: \t\t NVIDIA A100" in /proc/driver/nvidia/gpus/BUS/information.
void name_by_proc(const Machine& machine, Facts& facts) {
  for (Gpu& gpu : facts.gpus) {
    if (gpu.vendor != "nvidia" || !gpu.name.empty()) continue;
    const std::string text =
        read_text(machine, fmt::format("/proc/driver/nvidia/gpus/{}/information", gpu.bus));
    for (const std::string_view line : base::split(text, '\n'))
      if (line.starts_with("Model:")) gpu.name = std::string(base::trim(line.substr(6)));
  }
}

// What NVML knows about a card replaces what the bus tells.
void take(Facts& facts, Gpu gpu) {
  const auto same = std::find_if(facts.gpus.begin(), facts.gpus.end(),
                                 [&](const Gpu& known) { return known.bus == gpu.bus; });
  if (same == facts.gpus.end())
    facts.gpus.push_back(std::move(gpu));
  else
    *same = std::move(gpu);
}

}  // namespace

void probe_nvidia(const Machine& machine, Facts& facts) {
  facts.nvidia.module = version_in(read_text(machine, "/proc/driver/nvidia/version"));
  facts.nvidia.library = library_version(machine, facts);
  if (facts.nvidia.library == "unknown" && !facts.nvidia.module.empty())
    facts.nvidia.library = facts.nvidia.module;
  facts.nvidia.nvml = "not asked";
  if (machine.load_libraries) {
    NvmlAnswer answer = ask_nvml();
    facts.nvidia.nvml = answer.state;
    facts.nvidia.cuda = answer.cuda;
    // WSL has no kernel module of Linux; the driver's version is that of Windows.
    if (facts.nvidia.module.empty()) facts.nvidia.module = answer.driver;
    for (Gpu& gpu : answer.gpus) take(facts, std::move(gpu));
  }
  // A library without a version in its name: in WSL that of Windows' driver.
  if (facts.nvidia.library == "unknown" && !facts.nvidia.module.empty())
    facts.nvidia.library = facts.nvidia.module;
  if (facts.wsl && !facts.container.empty() && !facts.nvidia.library.empty())
    facts.nvidia.dxgdmal = dxgdmal_in(machine, facts);
  constexpr std::uint32_t kSetUserId = 04000;
  facts.nvidia.makes_nodes =
      (machine.files->status("/usr/bin/nvidia-modprobe", true).mode & kSetUserId) != 0;
  if (facts.nvidia.cuda.empty() && !facts.nvidia.module.empty())
    facts.nvidia.cuda = releases::cuda_of_driver(facts.nvidia.module);
  name_by_proc(machine, facts);
}

}  // namespace torchport::host
