// ROCm SMI and Level Zero: AMD's and Intel's driver libraries, loaded if the machine has them.
#pragma once

#include <string>
#include <vector>

#include "host/facts/facts.h"

namespace torchport::host {

struct DriverAnswer {
  // "ok", "not found", "no answer" (it hung, or ended the process), or the code that it gave.
  std::string state;
  std::vector<Gpu> gpus;  // with vendor, name, bus and memory, as far as they are told
};

// Each asks once, in a child process, for two seconds at most.
[[nodiscard]] DriverAnswer ask_rocm_smi();
[[nodiscard]] DriverAnswer ask_level_zero();

// What a library knows of cards that the bus told of: names and memory. Cards that it alone knows
// come behind.
void merge(std::vector<Gpu>& known, const std::vector<Gpu>& told);

}  // namespace torchport::host
