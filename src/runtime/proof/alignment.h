// Compares the traces of one program on two kinds of devices. They need not have the same
// operators: CUDA has a dropout of its own, and an optimizer takes all parameters at once there and
// one after the other on the CPU. So results decide, and names do not.
#pragma once

#include <cstddef>
#include <optional>

#include "runtime/proof/trace.h"

namespace torchport::proof {

// Where two traces part: numbers of calls.
struct Parting {
  std::size_t first = 0;
  std::size_t second = 0;
};

struct Alignment {
  std::size_t compared = 0;  // pairs of calls with equal shapes, and means within the tolerance
  std::size_t renamed = 0;   // of them, those of two operators
  std::size_t passed = 0;    // calls of optimizers that have no pair: what follows agrees
  double deviation = 0;      // the largest relative deviation of means
  bool equal_bits = true;
  std::optional<Parting> parting;  // none if the traces agree to their ends
};

// Pairs calls with the same results, in order (tolerance_of() has the tolerance). Between two
// pairs, and at the ends, calls that optimizers make may have none, if both traces have such calls
// there and the next results agree again. Linear in the traces, but for such stretches.
[[nodiscard]] Alignment align(const Trace& a, const Trace& b);

}  // namespace torchport::proof
