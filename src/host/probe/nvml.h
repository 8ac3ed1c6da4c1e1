// Asks NVIDIA's management library (NVML) about GPUs, if the machine has it.
#pragma once

#include <string>
#include <vector>

#include "host/facts/facts.h"

namespace torchport::host {

struct NvmlAnswer {
  std::string state;   // "ok", "not found", or NVML's own error
  std::string driver;  // version
  std::string cuda;    // "13.0"
  std::vector<Gpu> gpus;
};

// Asks once and shuts NVML down again. Thread safe.
[[nodiscard]] NvmlAnswer ask_nvml();

}  // namespace torchport::host
