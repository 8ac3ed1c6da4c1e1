// What CUTLASS's products of groups need of the groups' sizes, which the device asserts.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/virtual/operators/grouped_rules.h"

namespace torchport::vdev {

struct BadGroup {
  std::int64_t index;
  const char* condition;  // the text of the assertion
};

// The first group whose size fails an assertion of prepare_grouped_gemm_data (GroupMMCommon.cuh):
// in sums over groups none is empty, but for a first matrix in columns with a second one in rows,
// and groups begin at multiples of 16 bytes. The tensors are of the CPU.
[[nodiscard]] std::optional<BadGroup> bad_group(const GroupedCall& call);

}  // namespace torchport::vdev
