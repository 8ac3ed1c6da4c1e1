// How portable a project is, in figures that can be argued with.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "source/project/check.h"

namespace torchport::report {

// The share of files that mention torch or CUDA and run as they are on any
// device, 0 to 100: a file with an error counts nothing, one with warnings
// only counts half. 100 when no file mentions either.
[[nodiscard]] int portability_score(const project::Report& report);

struct DeviceBlocks {
  std::string_view device;   // "cpu" or a kind of devices
  std::size_t findings = 0;  // errors that stop the program there
  std::size_t files = 0;
};

// Which device is blocked by how much. Errors of placement, load, parallel,
// build and kernels stop every host without CUDA; errors of mismatch and
// export stop every host where model and data are not both on the CPU.
// The CPU first, CUDA last, between them the other kinds in order of preference.
[[nodiscard]] std::vector<DeviceBlocks> blocked_devices(const project::Report& report);

struct Group {
  std::string name;
  std::size_t errors = 0;
  std::size_t warnings = 0;
};

// By the file's folder and by rule code, most first.
[[nodiscard]] std::vector<Group> by_folder(const project::Report& report);
[[nodiscard]] std::vector<Group> by_rule(const project::Report& report);

}  // namespace torchport::report
