// Sums of who holds memory, as every report of a plan shows them. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace torchport::plan {

// "Net.layers.17.act" is one of "Net.layers.*.act".
[[nodiscard]] std::string without_numbers(const std::string& module);

// Whether a reader would learn nothing from the second.
[[nodiscard]] bool are_alike(const Device& a, const Device& b);

// Devices that stand beside each other and are alike: the first one, and the names of all,
// "cuda:0 to cuda:7, each".
struct AlikeDevices {
  const Device* device = nullptr;
  std::string names;
};
[[nodiscard]] std::vector<AlikeDevices> alike_devices(const Plan& plan);

// Rows of one name.
struct Sum {
  std::string name;
  std::vector<std::string> holds;  // what they hold, the largest row first
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
};
enum class SumBy : std::uint8_t { kKind, kModule, kLine };
// The largest first. `rows` has the largest first, too.
[[nodiscard]] std::vector<Sum> sums_by(const std::vector<Row>& rows, SumBy by);

}  // namespace torchport::plan
