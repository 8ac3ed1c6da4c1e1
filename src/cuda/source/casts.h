// Casts of floats to integers, which saturate.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cuda/source/code.h"

namespace torchport::cuda {

class Casts : CodePart {
 public:
  using CodePart::CodePart;

  // Token `i` is `(`: of (int)x?
  void in_parentheses(std::size_t i);
  // Token `i` is `static_cast`.
  void static_cast_at(std::size_t i);
  // Token `i` is a name: the type of int(x), or of a variable, int i = x?
  void type_at(std::size_t i);

 private:
  // Behind the type of an integer, which may be of several words, that begins at token `i`; `i` if
  // there is none.
  [[nodiscard]] std::size_t behind_integer(std::size_t i) const;
  [[nodiscard]] bool begins_operand(std::size_t i) const;
  [[nodiscard]] bool is_integer_literal(std::size_t i) const;
  // Whether an expression may begin behind token `i`, so that no declaration ends there.
  [[nodiscard]] bool is_before_expression(std::size_t i) const;
  [[nodiscard]] bool is_behind_cast(std::size_t i) const;
  [[nodiscard]] std::string text_between(std::size_t begin, std::size_t end) const;
  // The variables that a declaration names from token `i` on.
  void variables(std::size_t i, const std::string& type);
  // What the parentheses hold is cast before.
  void call(std::size_t open, std::string_view type);

  std::size_t declared_until_ = 0;  // tokens
};

}  // namespace torchport::cuda
