// Which tokens are at the level of a namespace, and the declaration that a token belongs to.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "cuda/source/tokens.h"

namespace torchport::cuda {

struct Declaration {
  std::size_t begin = 0;  // the first token
  std::size_t end = 0;    // behind the last one before the initializer, the parameters or the body
  bool is_function = false;
  bool is_member = false;  // a qualified name: A::f
  bool is_template = false;
};

class Scopes {
 public:
  Scopes(std::string_view text, const std::vector<Token>& tokens);

  // Whether token `i` is in a namespace and in nothing else.
  [[nodiscard]] bool is_namespace(std::size_t i) const { return flags_[i] != 0; }
  [[nodiscard]] Declaration declaration(std::size_t i) const;
  [[nodiscard]] bool has(const Declaration& declared, std::string_view word) const;

 private:
  [[nodiscard]] std::string_view word(std::size_t i) const;
  [[nodiscard]] std::size_t behind_template_arguments(std::size_t open) const;
  [[nodiscard]] bool opens_namespace(std::size_t brace) const;

  std::string_view text_;
  const std::vector<Token>& tokens_;
  std::vector<char> flags_;
};

}  // namespace torchport::cuda
