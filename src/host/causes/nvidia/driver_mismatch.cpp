// Finds a kernel module and libraries of different drivers.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> mismatch(const Facts& facts) {
  const auto& [module, library, nvml, cuda] = facts.nvidia;
  if (module.empty() || library.empty() || module == library) return std::nullopt;
  return Diagnosis{
      "driver-mismatch",
      fmt::format("the loaded kernel module is {}, the driver's libraries are {}", module, library),
      in_container(facts)
          ? "the image contains libraries of another driver: remove them (libcuda.so.1); the "
            "container runtime adds the host's"
          : "the driver was updated: reboot, or unload the module and load it again",
      kUserDriver};
}

const CauseRegistration kMismatch(&mismatch);

}  // namespace

}  // namespace torchport::host
