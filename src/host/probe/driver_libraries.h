// Asks AMD's and Intel's driver libraries (ROCm SMI and Level Zero) about GPUs, if the machine has
// them. They are asked in a child process, because a broken driver may hang or end the process that
// asks.
#pragma once

#include <string>
#include <vector>

#include "host/facts/facts.h"

namespace torchport::host {

struct DriverAnswer {
  // "ok", "not found", "no answer" (it hung, or ended the process), or the code that it gave.
  std::string state;
  std::vector<Gpu> gpus;  // with vendor, name, bus and memory, as far as known
};

// Each asks once and waits at most two seconds.
[[nodiscard]] DriverAnswer ask_rocm_smi();
[[nodiscard]] DriverAnswer ask_level_zero();

// Adds what a library knows (names and memory) to the cards that were found on the bus. Cards that
// only the library knows are appended.
void merge(std::vector<Gpu>& known, const std::vector<Gpu>& told);

}  // namespace torchport::host
