// Finds what keeps a torch from being imported, without importing it.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/elf.h"
#include "base/text.h"
#include "host/probe/probe.h"

namespace torchport::host {

namespace {

// "3.11" for "_C.cpython-311-x86_64-linux-gnu.so"; empty for another name.
std::string python_of_module(std::string_view name) {
  constexpr std::string_view kStart = "_C.cpython-3";
  if (!name.starts_with(kStart)) return {};
  const std::string_view rest = name.substr(kStart.size());
  const std::string_view minor = rest.substr(0, rest.find('-'));
  return minor.empty() ? std::string() : fmt::format("3.{}", minor);
}

std::string other_python(const Machine& machine, const Torch& torch) {
  const auto entries = machine.files->list(torch.root);
  if (!entries || torch.python.empty()) return {};
  std::string other;
  for (const base::DirectoryEntry& entry : *entries) {
    const std::string built = python_of_module(entry.name);
    if (built == torch.python) return {};
    if (!built.empty()) other = built;
  }
  return other;
}

// Those that `import torch` loads first: torch._C needs the others, and the first of these needs
// all of CUDA's libraries.
constexpr std::array<std::string_view, 3> kFirst{"libtorch_global_deps.so", "libc10.so",
                                                 "libtorch.so"};
constexpr std::uint64_t kMostBytes = 16U << 20U;

std::vector<std::string> needed_by(const Machine& machine, const Torch& torch) {
  std::vector<std::string> names;
  for (const std::string_view library : kFirst) {
    const std::string path = fmt::format("{}/lib/{}", torch.root, library);
    const auto status = machine.files->status(path, true);
    if (status.type != base::FileType::kRegular || status.size > kMostBytes) continue;
    const std::string bytes = read_text(machine, path);
    const auto elf = base::ElfFile::parse(bytes);
    if (!elf) continue;
    for (const std::string_view name : elf->needed())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  return names;
}

// Those of the C library, which are always there, and of drivers, which have causes of their own.
bool is_given(std::string_view name) {
  for (const std::string_view start :
       {"libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so", "ld-linux", "libcuda.so",
        "libnvidia-ml.so"})
    if (name.starts_with(start)) return true;
  return false;
}

// Those of the packages that come with torch.
bool comes_with_torch(std::string_view name) {
  for (const std::string_view start : {"libcu", "libnv", "libnccl"})
    if (name.starts_with(start)) return true;
  return false;
}

// Where the dynamic linker and torch itself look: torch's folder, the nvidia packages beside it,
// the environment, LD_LIBRARY_PATH, the system.
std::vector<std::string> folders_for(const Machine& machine, const Facts& facts,
                                     const Torch& torch) {
  const std::string site(base::parent_path(torch.root));
  std::vector<std::string> folders{torch.root + "/lib", site + "/torch.libs",
                                   std::string(base::parent_path(base::parent_path(site)))};
  for (const char* packages : {"/nvidia", ""}) {
    const auto entries = machine.files->list(site + packages);
    if (!entries) continue;
    for (const base::DirectoryEntry& entry : *entries)
      if (*packages != '\0' || entry.name.starts_with("cu"))
        folders.push_back(site + packages + "/" + entry.name + "/lib");
  }
  for (std::string& folder : library_folders(machine, facts)) folders.push_back(std::move(folder));
  return folders;
}

}  // namespace

void probe_import(const Machine& machine, const Facts& facts, Torch& torch) {
  if (!torch.fault.empty()) return;
  torch.built_for_python = other_python(machine, torch);
  // The names of the libraries that the dynamic linker knows end with a zero byte.
  const std::string cache = read_text(machine, "/etc/ld.so.cache");
  const std::vector<std::string> folders = folders_for(machine, facts, torch);
  for (const std::string& name : needed_by(machine, torch)) {
    if (is_given(name)) continue;
    // Without the cache it is not known where a system has its libraries.
    if (cache.empty() && !comes_with_torch(name)) continue;
    if (cache.find(name + '\0') != std::string::npos) continue;
    const bool there = std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
      return machine.files->status(base::join_path(folder, name), true).type ==
             base::FileType::kRegular;
    });
    if (!there) torch.lacks.push_back(name);
  }
}

}  // namespace torchport::host
