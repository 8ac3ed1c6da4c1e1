// Kernels: functions that run their bodies, as lambdas, for all threads.
#pragma once

#include <cstddef>
#include <string>

#include "cuda/source/code.h"
#include "cuda/source/places.h"

namespace torchport::cuda {

class Kernels : CodePart {
 public:
  Kernels(Code& code, Places& places) : CodePart(code), places_(places) {}

  // The function with `__global__` at token `i`.
  void kernel(std::size_t i);

 private:
  // The `(` of a kernel's parameters, and its name before.
  [[nodiscard]] std::size_t parameters_of(std::size_t i) const;
  // What is said of a kernel's launches before its parameters.
  std::string bounds_of(std::size_t i, std::size_t open);

  Places& places_;
};

}  // namespace torchport::cuda
