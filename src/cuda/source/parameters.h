// Reads lists in parentheses: the parameters of a function, the parts of an assembler statement.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/source/rewrite.h"
#include "cuda/source/tokens.h"

namespace torchport::cuda {

struct Parameter {
  std::string name;  // empty: it has none
  bool is_pack = false;
};

// The parameters between the tokens `(` and `)`.
[[nodiscard]] std::vector<Parameter> parameters_between(std::string_view text,
                                                        const std::vector<Token>& tokens,
                                                        std::size_t open, std::size_t close);

// The assembler statement between the tokens `(` and `)`; none if it is not one.
[[nodiscard]] std::optional<AsmStatement> asm_between(std::string_view text,
                                                      const std::vector<Token>& tokens,
                                                      std::size_t open, std::size_t close);

}  // namespace torchport::cuda
