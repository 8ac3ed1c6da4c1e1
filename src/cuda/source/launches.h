// Launches: kernel<<<grid, block>>>(arguments).
#pragma once

#include <cstddef>
#include <optional>

#include "cuda/source/code.h"

namespace torchport::cuda {

class Launches : CodePart {
 public:
  using CodePart::CodePart;

  // The launch whose `<<<` begins at token `i`.
  void launch(std::size_t i);

 private:
  // The first token of the expression that ends before token `end`: a name with its scopes and
  // template arguments, or an expression in parentheses.
  [[nodiscard]] std::optional<std::size_t> callee_begin(std::size_t end) const;
  // Whether token `at` is the `)` of if (...), after which a statement begins.
  [[nodiscard]] bool ends_condition(std::size_t at) const;
  // The `<` of template arguments that token `close` ends.
  [[nodiscard]] std::optional<std::size_t> template_open(std::size_t close) const;
};

}  // namespace torchport::cuda
