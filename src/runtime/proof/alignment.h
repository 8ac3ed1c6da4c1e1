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
  std::size_t steps = 0;     // steps of optimizers whose parameters were compared
  std::size_t passed = 0;    // calls of optimizers that have no pair: what follows agrees
  std::size_t scaler = 0;    // calls of a GradScaler that is off in the other
  double deviation = 0;      // the largest relative deviation of means
  double tolerance = 0;      // the largest that a floating-point result was compared with
  bool equal_bits = true;
  std::optional<Parting> parting;  // none if the traces agree to their ends
};

// Pairs calls with the same results, in order (tolerance_of() has the tolerance). Between two
// pairs, calls that optimizers make may have none, if both traces have such calls there and the
// next results agree again: those of the next forward pass, or the parameters after the step. Where
// autocast takes float16 on one device and bfloat16 on the other, these are compared within the
// tolerance of bfloat16, and so is what follows. Linear in the traces, but for such stretches.
[[nodiscard]] Alignment align(const Trace& a, const Trace& b);

// Whether the optimizers of two programs took as many steps, and left the same parameters after the
// last ones, by changes of the same size. Where the rest cannot be aligned, this still can: which
// operators lead there does not matter. Within `tolerance`, or that of a type if it is larger.
[[nodiscard]] bool end_alike(const Trace& a, const Trace& b, double tolerance);

}  // namespace torchport::proof
