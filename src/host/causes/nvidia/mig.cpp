// Finds GPUs that are split into instances.
#include <algorithm>

#include "host/causes/cause.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> mig(const Facts& facts) {
  const auto gpus = facts.of("nvidia");
  const bool split = std::any_of(gpus.begin(), gpus.end(), [](const Gpu* gpu) { return gpu->mig; });
  if (!split) return std::nullopt;
  return Diagnosis{"mig",
                   "the GPU is split into instances (MIG), and a process sees only one of them",
                   "name the instance: CUDA_VISIBLE_DEVICES=MIG-...; nvidia-smi -L lists them",
                   kHardware, false};
}

const CauseRegistration kMig(&mig);

}  // namespace

}  // namespace torchport::host
