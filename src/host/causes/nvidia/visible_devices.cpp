// Finds variables that hide the GPUs.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "devices/device_kind.h"
#include "devices/visibility.h"
#include "host/causes/cause.h"
#include "host/causes/container.h"
#include "host/causes/queries.h"

namespace torchport::host::nvidia {

namespace {

// Whether a card or an instance of this machine has a UUID that starts like this. True if that is
// unknown.
bool may_name(const std::vector<const Gpu*>& gpus, const std::string& uuid) {
  bool told = true;
  bool split = false;
  for (const Gpu* gpu : gpus) {
    if (!gpu->uuid.empty() && gpu->uuid.starts_with(uuid)) return true;
    for (const std::string& instance : gpu->mig_uuids)
      if (instance.starts_with(uuid)) return true;
    told = told && !gpu->uuid.empty();
    split = split || (gpu->mig && gpu->mig_uuids.empty());
  }
  return !told || (split && uuid.starts_with("MIG-"));
}

std::string uuids_of(const std::vector<const Gpu*>& gpus) {
  std::vector<std::string> uuids;
  for (const Gpu* gpu : gpus) uuids.push_back(gpu->uuid);
  return fmt::format("{}", fmt::join(uuids, ", "));
}

std::optional<Diagnosis> hidden_by_cuda(const Facts& facts) {
  const std::string_view variable = devices::find_kind("cuda")->visibility_variable;
  const auto visible = facts.variable(std::string(variable));
  if (!visible || in_job_without_gpu(facts)) return std::nullopt;
  const auto gpus = facts.of("nvidia");
  const auto named = devices::named_devices(*visible);
  if (named.empty())
    return Diagnosis{"hidden", fmt::format("{}=\"{}\" hides every GPU", variable, *visible),
                     fmt::format("unset {0}, or name the devices: {0}=0", variable), kEnvironment};
  const devices::NamedDevice& first = named.front();
  const int count = static_cast<int>(gpus.size());
  if (first.uuid.empty() && first.number >= count)
    return Diagnosis{
        "hidden",
        fmt::format("{}={} names GPU {} first, but there {} only {}", variable, *visible,
                    first.number, count == 1 ? "is" : "are", count),
        "number the GPUs from 0; CUDA ignores every GPU after a number that does not exist",
        kEnvironment};
  if (!first.uuid.empty() && !may_name(gpus, first.uuid))
    return Diagnosis{
        "hidden",
        fmt::format("{}={} names {} first, but this machine has only {}", variable, *visible,
                    first.uuid, uuids_of(gpus)),
        fmt::format("unset {}, or name a device that nvidia-smi -L lists; CUDA ignores every GPU "
                    "after one that does not exist",
                    variable),
        kEnvironment};
  return std::nullopt;
}

std::optional<Diagnosis> hidden(const Facts& facts) {
  if (!has_nvidia(facts)) return std::nullopt;
  if (auto found = hidden_by_cuda(facts)) return found;
  const auto given = facts.variable("NVIDIA_VISIBLE_DEVICES");
  if (given && in_container(facts) && (given->empty() || *given == "void" || *given == "none"))
    return Diagnosis{
        "hidden-from-container",
        fmt::format(
            "NVIDIA_VISIBLE_DEVICES=\"{}\": the container runtime gave this container no GPU",
            *given),
        pass_nvidia(facts, {}) + "; or set NVIDIA_VISIBLE_DEVICES=all at its start", kContainer};
  return std::nullopt;
}

std::optional<Diagnosis> job_without_gpu(const Facts& facts) {
  if (!has_nvidia(facts) || !in_job_without_gpu(facts)) return std::nullopt;
  return Diagnosis{
      "job-without-gpu",
      fmt::format("Slurm gave the job {} none of this node's GPUs: it may open none of "
                  "/dev/nvidia*, or CUDA_VISIBLE_DEVICES is empty",
                  *facts.variable("SLURM_JOB_ID")),
      "ask for one: sbatch --gres=gpu:1, or srun --gpus=1", kContainer};
}

const CauseRegistration kJob(&job_without_gpu);
const CauseRegistration kHidden(&hidden);

}  // namespace

}  // namespace torchport::host::nvidia
