// Finds GPUs that are split into instances.
#include <algorithm>

#include "host/causes/cause.h"

namespace torchport::host::nvidia {

namespace {

std::optional<Diagnosis> mig(const Facts& facts) {
  const auto gpus = facts.of("nvidia");
  const bool split = std::any_of(gpus.begin(), gpus.end(), [](const Gpu* gpu) { return gpu->mig; });
  if (!split) return std::nullopt;
  const bool unusable = std::all_of(gpus.begin(), gpus.end(), [](const Gpu* gpu) {
    return gpu->mig && gpu->mig_instances.value_or(1) == 0;
  });
  if (unusable)
    return Diagnosis{"mig-without-instances",
                     "the GPU is in MIG mode, but has no instances, so CUDA finds no device",
                     "create one (nvidia-smi mig -cgi 0 -C), or turn MIG off (nvidia-smi -mig 0)",
                     kHardware};
  return Diagnosis{"mig",
                   "the GPU is split into instances (MIG), and a process sees only one of them",
                   "name the instance: CUDA_VISIBLE_DEVICES=MIG-...; nvidia-smi -L lists them",
                   kHardware, false};
}

const CauseRegistration kMig(&mig);

}  // namespace

}  // namespace torchport::host::nvidia
