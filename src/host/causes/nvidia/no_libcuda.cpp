// Finds a driver without libcuda.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/nvidia/packages.h"
#include "host/causes/queries.h"

namespace torchport::host::nvidia {

namespace {

std::optional<Diagnosis> no_libcuda(const Facts& facts) {
  if (!has_nvidia(facts) || in_container(facts) || facts.wsl) return std::nullopt;
  if (facts.nvidia.module.empty() || !facts.nvidia.library.empty()) return std::nullopt;
  return Diagnosis{"no-libcuda",
                   fmt::format("the kernel module {} is loaded, but libcuda.so.1 was not found",
                               facts.nvidia.module),
                   fmt::format("install the driver's libraries of the same version, {}: {}",
                               facts.nvidia.module, install_libraries(facts)),
                   kUserDriver};
}

const CauseRegistration kNoLibcuda(&no_libcuda);

}  // namespace

}  // namespace torchport::host::nvidia
