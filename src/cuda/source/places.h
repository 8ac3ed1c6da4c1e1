// threadIdx and its kin, where CUDA's are meant.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "cuda/source/code.h"

namespace torchport::cuda {

// The function that answers for threadIdx, blockIdx, blockDim or gridDim outside of kernels; empty:
// another name.
std::string_view asked_by(std::string_view name);

class Places : CodePart {
 public:
  using CodePart::CodePart;

  // Token `i` is threadIdx or its kin: what it names here, a parameter of the kernel's lambda, the
  // answer of `function` or something of the program.
  void place(std::size_t i, std::string_view function);
  // The tokens that follow are a kernel's body.
  void enter_kernel(std::size_t begin, std::size_t end);

 private:
  struct Region {
    std::size_t begin;  // tokens
    std::size_t end;
  };
  // Whether `a.NAME`, `a->NAME` or a declaration: not CUDA's variable.
  [[nodiscard]] bool is_other(std::size_t i) const;
  // Whether a declaration names token `i`: `dim3 NAME`, `const dim3& NAME`, `dim3 other, NAME`.
  [[nodiscard]] bool is_declared(std::size_t i) const;
  // The tokens that see what token `i` declares: up to the end of its block, or of the body behind
  // the parentheses that it is in.
  [[nodiscard]] Region seen_by(std::size_t i) const;
  // Whether the program has declared a variable of this name, which hides CUDA's.
  [[nodiscard]] bool is_hidden(std::size_t i) const;
  // Parts of the kernel that do not see the parameters of its lambda: lambdas that name what they
  // capture, and classes.
  [[nodiscard]] bool is_inside_other(std::size_t i) const;

  std::vector<Region> others_;
  std::vector<Region> declared_;  // variables with the names of CUDA's, from their names on
};

}  // namespace torchport::cuda
