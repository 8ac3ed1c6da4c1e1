// Variables of the device, and those that the threads of a block share.
#pragma once

#include <cstddef>

#include "cuda/source/code.h"

namespace torchport::cuda {

class Variables : CodePart {
 public:
  using CodePart::CodePart;

  // nvcc's device code has internal linkage: each file may have its own function of one name.
  bool becomes_static(std::size_t i);
  // static alignas(16) is not C++, and __shared__ alignas(16) is CUDA's: an attribute may stand
  // anywhere.
  void align_anywhere(std::size_t i);
  // Tells the runtime of a variable of the device, so that symbols have an address and a size.
  void variable(std::size_t i);
  // The declaration with `__shared__` at token `i`.
  void shared(std::size_t i);

 private:
  // extern __shared__ T name[]; in a function, of which a template forgets the name for the linker:
  // a reference to the dynamic shared memory.
  bool dynamic_in_function(std::size_t begin, std::size_t i, std::size_t end);
  // The bytes of __shared__ variables belong to the kernel; a checker has their addresses.
  void note_shared(std::size_t i, const Declaration& declared);

  std::size_t aligned_ = 0;
  std::size_t done_ = static_cast<std::size_t>(-1);
  std::size_t told_ = static_cast<std::size_t>(-1);  // a declaration of a variable
};

}  // namespace torchport::cuda
