// Splits a kernel where its threads meet, into loops over the threads of a block that a compiler
// may vectorize. The body
//
//   int x = threadIdx.x;
//   float v = a[x];
//   s[x] = v;
//   __syncthreads();
//   b[x] = v + s[31 - x];
//
// becomes
//
//   float kept_v[1024];
//   for (threads) { int x = threadIdx.x; kept_v[t] = a[x]; s[x] = kept_v[t]; }
//   for (threads) { int x = threadIdx.x; b[x] = kept_v[t] + s[31 - x]; }
//
// Shuffles of a warp are such places, too: threads leave their values at the end of a phase, and
// take those of their lanes in the next one. A branch of some threads, in which lanes meet, becomes
// phases that the other threads skip. A loop over a grid runs in rounds of all threads, so that
// they read side by side.
//
// Only what cannot be wrong is split: barriers stand in the body, or in loops and branches that all
// threads run alike; loops with shuffles are such, too; the kernel calls nothing but CUDA's
// functions of numbers, atomics and loads, which never wait; what the threads keep from one phase
// to the next are numbers and pointers. Every other kernel runs on fibers.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/source/scopes.h"
#include "cuda/source/tokens.h"

namespace torchport::cuda {

// Changes of a text; those at one place in this order.
struct PhaseEdit {
  std::size_t begin;
  std::size_t end;
  std::string with;
};

// The tokens of a kernel: its first one, the parentheses of its parameters, and its braces.
struct KernelTokens {
  std::size_t first;
  std::size_t open, close;
  std::size_t body, end;
  std::string_view attributes;  // of functions with the kernel's code
};

// Whether a token is of the program, not of a header of the toolkit or of the system.
using IsOfUser = std::function<bool(std::size_t token)>;

// The changes within the braces of a kernel that is split; none: it stays as it is. The text that
// results uses blockIdx, blockDim, gridDim and `Walk* torchport_walk`.
[[nodiscard]] std::optional<std::vector<PhaseEdit>> phases_of(std::string_view text,
                                                              const std::vector<Token>& tokens,
                                                              const Scopes& scopes,
                                                              const KernelTokens& kernel,
                                                              const IsOfUser& is_of_user);

}  // namespace torchport::cuda
