// Shifts by any amount.
#pragma once

#include <cstddef>

#include "cuda/source/code.h"

namespace torchport::cuda {

class Shifts : CodePart {
 public:
  using CodePart::CodePart;

  // The operator at tokens `i` and i + 1, which are `<<` or `>>`; what follows it.
  std::size_t shift(std::size_t i);

 private:
  // Whether the amount is a number that every type has room for.
  [[nodiscard]] bool is_small(std::size_t amount) const;
  // Whether the `>>` at token `i` ends two lists of template arguments.
  [[nodiscard]] bool closes_templates(std::size_t i) const;
  // Whether the statement writes to a stream or reads from one.
  [[nodiscard]] bool is_of_stream(std::size_t i) const;
};

}  // namespace torchport::cuda
