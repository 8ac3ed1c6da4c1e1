// Finds a torch for ROCm in WSL that sees no GPU.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host::amd_wsl {

namespace {

// The wheels of pytorch.org contain an HSA runtime that asks for /dev/kfd, which WSL has not.
std::optional<Diagnosis> no_gpu_in_wsl(const Facts& facts) {
  const Torch* torch = facts.torch();
  if (!facts.wsl || !is_built_for_rocm(torch) || !facts.of("amd").empty()) return std::nullopt;
  return Diagnosis{
      "wsl-no-rocm",
      fmt::format("ROCm finds no GPU in this WSL; torch {} brings its own HSA runtime, and that of "
                  "pytorch.org's wheels does not know WSL",
                  torch->version),
      "install AMD's driver in Windows, and ROCm and torch in WSL as AMD describes: "
      "https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/wsl/"
      "howto_wsl.html",
      kUserDriver};
}

const CauseRegistration kWslRocm(&no_gpu_in_wsl);

}  // namespace

}  // namespace torchport::host::amd_wsl
