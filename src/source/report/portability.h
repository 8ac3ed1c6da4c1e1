// Computes figures on how portable a project is, for the HTML report.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "source/project/check.h"

namespace torchport::report {

// The share, 0 to 100, of the files that mention torch or CUDA and run unchanged on any device. A
// file with an error counts as 0, a file with only warnings as a half. If a file ends the program
// without CUDA, all files of its folder count as 0. It is 100 if no file mentions either.
[[nodiscard]] int portability_score(const project::CheckReport& report);

// Where the program ends without CUDA: the findings of TP110.
[[nodiscard]] std::vector<const project::Diagnostic*> demands(const project::CheckReport& report);

struct DeviceBlocks {
  std::string_view device;   // "cpu" or a device kind
  std::size_t findings = 0;  // errors that stop the program on this device
  std::size_t files = 0;
};

// How much blocks each device. Each rule says in its RuleInfo whether its errors stop the program
// on accelerators or wherever there is no CUDA. The CPU comes first, CUDA last, the other kinds
// between them in order of preference.
[[nodiscard]] std::vector<DeviceBlocks> blocked_devices(const project::CheckReport& report);

struct Group {
  std::string name;
  std::size_t errors = 0;
  std::size_t warnings = 0;
};

// Counts by the file's folder and by the rule's code, the largest first.
[[nodiscard]] std::vector<Group> by_folder(const project::CheckReport& report);
[[nodiscard]] std::vector<Group> by_rule(const project::CheckReport& report);

}  // namespace torchport::report
