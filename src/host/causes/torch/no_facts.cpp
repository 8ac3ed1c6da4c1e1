// Finds records that say nothing of what torch does: those without facts, and those of systems that
// doctor does not know.
#include <fmt/format.h>

#include "base/text.h"
#include "host/causes/cause.h"

namespace torchport::host::torch {

namespace {

std::optional<Diagnosis> empty(const Facts& facts) {
  if (!(facts == Facts{})) return std::nullopt;
  return Diagnosis{"no-facts",
                   "this record contains no facts of a machine, so nothing is known of it",
                   "record the machine itself: torchport doctor --json > machine.json", kHardware};
}

// Windows has other names where a program like MSYS2 or Cygwin tells them.
bool is_windows(const std::string& system) {
  return system.starts_with("win") || system.starts_with("cygwin") || system.starts_with("mingw") ||
         system.starts_with("msys") || system == "nt";
}

std::optional<Diagnosis> other_system(const Facts& facts) {
  const std::string system = base::lower(facts.system);
  if (system.empty() || system == "linux" || system == "darwin") return std::nullopt;
  return Diagnosis{
      "system-not-examined",
      fmt::format("doctor does not examine {}, so it does not know whether torch uses a GPU there",
                  is_windows(system) ? "Windows" : facts.system),
      is_windows(system)
          ? "run torchport doctor in WSL, which has the same GPU "
            "(https://learn.microsoft.com/windows/wsl/install); for a torch in Windows itself: "
            "nvidia-smi says whether NVIDIA's driver works, and "
            "https://pytorch.org/get-started/locally/ has the line that installs torch"
          : "use Linux or macOS: https://pytorch.org/get-started/locally/ says what torch supports",
      kHardware};
}

const CauseRegistration kOtherSystem(&other_system);
const CauseRegistration kEmpty(&empty);

}  // namespace

}  // namespace torchport::host::torch
