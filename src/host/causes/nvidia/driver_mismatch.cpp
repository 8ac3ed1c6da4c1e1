// Finds a kernel module and libraries of different drivers.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/container.h"
#include "host/causes/queries.h"

namespace torchport::host::nvidia {

namespace {

std::string remedy_in_container(const Facts& facts) {
  const Runtime runtime = runtime_of(facts.container);
  if (runtime == Runtime::kLxc || runtime == Runtime::kNspawn)
    return fmt::format(
        "install the libraries of the host's driver, {}, in the container, without "
        "its kernel module",
        facts.nvidia.module);
  return "the image contains libraries of another driver: remove them (libcuda.so.1); the "
         "container runtime adds the host's";
}

std::optional<Diagnosis> mismatch(const Facts& facts) {
  if (!driver_mismatch(facts)) return std::nullopt;
  const std::string& module = facts.nvidia.module;
  const std::string& library = facts.nvidia.library;
  const std::string& nvml = facts.nvidia.nvml;
  const std::string what =
      module == library
          ? fmt::format("NVML says \"{}\": the loaded kernel module is {}", nvml, module)
          : fmt::format("the loaded kernel module is {}, the driver's libraries are {}", module,
                        library);
  return Diagnosis{"driver-mismatch", what,
                   in_container(facts) ? remedy_in_container(facts)
                                       : "the driver was updated while it was loaded: reboot",
                   kUserDriver};
}

// cuda-compat is only for cards of data centres.
std::optional<Diagnosis> compat_on_consumer_card(const Facts& facts) {
  if (facts.nvidia.module.empty() || facts.wsl || !has_compat_library(facts)) return std::nullopt;
  for (const Gpu* gpu : facts.of("nvidia"))
    if (gpu->name.find("GeForce") != std::string::npos)
      return Diagnosis{
          "compat-library",
          fmt::format("LD_LIBRARY_PATH leads to the libcuda {} of cuda-compat, which does not "
                      "support {} with the driver {}",
                      facts.nvidia.library, gpu->name, facts.nvidia.module),
          "remove the folder with /compat from LD_LIBRARY_PATH, and update the driver",
          kUserDriver};
  return std::nullopt;
}

const CauseRegistration kCompat(&compat_on_consumer_card);
const CauseRegistration kMismatch(&mismatch);

}  // namespace

}  // namespace torchport::host::nvidia
