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
     {"libze_loader.so.1", "apt install libze1; dnf install level-zero"}}};

// How to get these libraries: those of the system by its packages, all others with torch.
std::string remedy_for(const Torch& torch) {
  for (const SystemLibrary& one : kSystemLibraries)
    if (std::find(torch.lacks.begin(), torch.lacks.end(), one.library) != torch.lacks.end())
      return fmt::format("install it: {}", one.packages);
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
