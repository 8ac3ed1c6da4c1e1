// Says how NVIDIA's driver is installed with the packages of this machine's distribution.
#pragma once

#include <string>

#include "host/facts/facts.h"

namespace torchport::host::nvidia {

// Whether this card is of the Blackwell generation, which has only the open kernel module.
[[nodiscard]] bool is_blackwell(const Gpu& gpu);

// The command that installs the driver, or a link where the distribution is not known.
[[nodiscard]] std::string install_driver(const Facts& facts);

// The command that installs the libraries of the loaded driver.
[[nodiscard]] std::string install_libraries(const Facts& facts);

}  // namespace torchport::host::nvidia
