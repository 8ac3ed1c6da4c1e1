// Which types the products of matrices and the convolutions are computed in, where this host's CPU
// is slow in the type that the program chose.
#pragma once

#include <ATen/core/operator_name.h>
#include <c10/core/ScalarType.h>

#include "runtime/virtual/core/wider.h"

namespace torchport::vdev {

// What a CPU can do with float16 and bfloat16.
struct HalfInstructions {
  bool float16_products = false;   // AMX-FP16; AVX512-FP16 is no faster than float32
  bool bfloat16_products = false;  // AMX-BF16, or AVX512-BF16 where it is faster than float32

  // Asks the CPU at the first call. TORCHPORT_HALF_INSTRUCTIONS=none says that it can do nothing,
  // for tests and measurements.
  [[nodiscard]] static const HalfInstructions& of_this_host();
};

// Those of float16 and bfloat16 in which the CPU's kernel of an operator is slower than converting
// the arguments to float32, computing, and rounding the result; none for other operators. A GPU
// rounds as rarely: its products of these types add up in float32.
[[nodiscard]] TypeSet slow_half_types(const c10::OperatorName& name, const HalfInstructions& cpu);

// The same for attention.
[[nodiscard]] bool is_attention_slow(at::ScalarType type);

// The same for this host. None if the process is to compute as the CPU does (`random=cpu`), so that
// both can be compared bit by bit.
[[nodiscard]] TypeSet computed_in_float32(const c10::OperatorName& name);

}  // namespace torchport::vdev
