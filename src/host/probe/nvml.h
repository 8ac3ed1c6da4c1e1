// NVIDIA's management library, loaded if the machine has it.
#pragma once

#include <string>
#include <vector>

#include "host/facts/facts.h"

namespace torchport::host {

struct NvmlAnswer {
  std::string state;   // "ok", "not found", or NVML's own words
  std::string driver;  // version
  std::string cuda;    // "13.0"
  std::vector<Gpu> gpus;
};

// Asks it once and lets it go. Thread safe.
[[nodiscard]] NvmlAnswer ask_nvml();

}  // namespace torchport::host
