// Finds a torch whose import fails: it is compiled for another Python, or libraries are missing.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"
#include "versions/version.h"

namespace torchport::host::torch {

namespace {

std::optional<Diagnosis> other_python(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->built_for_python.empty()) return std::nullopt;
  return Diagnosis{
      "torch-for-other-python",
      fmt::format("torch in {} is compiled for Python {}, but this is Python {}: its import fails "
                  "(No module named 'torch._C')",
                  torch->root, torch->built_for_python, torch->python),
      fmt::format("install it again with this Python: python{} -m pip install --force-reinstall "
                  "torch=={}",
                  torch->python, versions::without_local(torch->version)),
      kBuild};
}

struct SystemLibrary {
  std::string_view library;
  std::string_view packages;  // of Debian and Ubuntu; of Fedora and RHEL
};
constexpr std::array<SystemLibrary, 5> kSystemLibraries{
    {{"libgomp.so.1", "apt install libgomp1; dnf install libgomp"},
     {"libstdc++.so.6", "apt install libstdc++6; dnf install libstdc++"},
     {"libgcc_s.so.1", "apt install libgcc-s1; dnf install libgcc"},
     {"libnuma.so.1", "apt install libnuma1; dnf install numactl-libs"},
     {"libze_loader.so.1", "apt install libze1; dnf install oneapi-level-zero"}}};

// The starts of the names of libraries in torch's wheels and in the packages that they depend on.
constexpr std::array<std::string_view, 17> kLibrariesOfWheels{
    "libtorch",     "libc10",      "libshm",   "libcudnn",  "libcublas",    "libcudart",
    "libnccl",      "libcusparse", "libcufft", "libcurand", "libcusolver",  "libnvshmem",
    "libnvJitLink", "libnvrtc",    "libcupti", "libcufile", "libnvToolsExt"};

bool is_of_wheels(const std::string& library) {
  return std::any_of(kLibrariesOfWheels.begin(), kLibrariesOfWheels.end(),
                     [&](std::string_view start) { return library.starts_with(start); });
}

// How to get a library that no wheel of torch brings: torch was built by somebody else.
std::string remedy_for_foreign(const std::string& library, const Torch& torch) {
  if (library.starts_with("libnvpl_"))
    return "install NVIDIA's NVPL: https://developer.nvidia.com/nvpl-downloads";
  if (library.starts_with("libcudss"))
    return fmt::format("pip install nvidia-cudss-cu{}", torch.cuda.substr(0, torch.cuda.find('.')));
  return fmt::format(
      "install what {} is part of; this torch was not built by PyTorch's own project, whose wheels "
      "do not need it: ask where it came from",
      library);
}

// How to get these libraries: those of the system by its packages, NVIDIA's with torch.
std::string remedy_for(const Torch& torch) {
  for (const SystemLibrary& one : kSystemLibraries)
    if (std::find(torch.lacks.begin(), torch.lacks.end(), one.library) != torch.lacks.end())
      return fmt::format("install it: {}", one.packages);
  std::vector<std::string> remedies;
  for (const std::string& library : torch.lacks)
    if (!is_of_wheels(library)) remedies.push_back(remedy_for_foreign(library, torch));
  if (!remedies.empty()) return fmt::format("{}", fmt::join(remedies, "; "));
  return fmt::format(
      "install torch with its dependencies (nvidia-* packages), without --no-deps: pip install "
      "--force-reinstall torch=={}",
      versions::without_local(torch.version));
}

std::optional<Diagnosis> lacks_libraries(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || torch->lacks.empty()) return std::nullopt;
  return Diagnosis{
      "torch-lacks-libraries",
      fmt::format("the import of torch {} in {} fails: it needs {}, which {} in none of "
                  "the folders where it looks",
                  torch->version, torch->root, fmt::join(torch->lacks, ", "),
                  torch->lacks.size() == 1 ? "is" : "are"),
      remedy_for(*torch), kBuild};
}

const CauseRegistration kOtherPython(&other_python);
const CauseRegistration kLacks(&lacks_libraries);

}  // namespace

}  // namespace torchport::host::torch
