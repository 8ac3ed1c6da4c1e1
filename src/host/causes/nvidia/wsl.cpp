// Finds what keeps GPUs out of WSL.
#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> wsl(const Facts& facts) {
  if (!facts.wsl || !facts.nvidia.library.empty()) return std::nullopt;
  if (find_node(facts, "/dev/dxg") == nullptr)
    return Diagnosis{
        "wsl-1",
        "this WSL has no /dev/dxg: it is WSL 1, or this Windows does not support GPUs in WSL",
        "run wsl --set-version DISTRIBUTION 2, then wsl --update", kKernel};
  return Diagnosis{
      "wsl-no-driver", "/usr/lib/wsl/lib has no libcuda; NVIDIA's driver for Windows puts it there",
      "install NVIDIA's driver in Windows (not in WSL), then run wsl --shutdown", kUserDriver};
}

const CauseRegistration kWsl(&wsl);

}  // namespace

}  // namespace torchport::host
