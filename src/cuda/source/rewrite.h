// Rewrites preprocessed CUDA C++ as C++ for the host, for torchport/kernel.h of the toolkit's
// headers.
//
//   kernel<<<grid, block>>>(x)  ->  configure(grid, block), and a plain call of the kernel
//   __global__ void kernel(T x) { BODY }
//                               ->  a function that runs BODY, as a lambda, for all threads
//   extern __shared__ T x[];    ->  the thread-local block of dynamic shared memory
//   threadIdx in other functions -> a question to the thread that runs
//   __device__, __launch_bounds__(...), ... -> nothing
//
// Every line stays on its line, so that the compiler's errors name the user's.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace torchport::cuda {

// asm("TEMPLATE" : outputs : inputs : clobbers), with literals joined and without escapes.
struct AsmOperand {
  std::string name;        // [name], if there is one
  std::string constraint;  // "=r"
  std::string expression;
};
struct AsmStatement {
  std::string text;
  std::vector<AsmOperand> outputs;
  std::vector<AsmOperand> inputs;
};

struct RewriteOptions {
  // Device code is linked across files (-rdc=true): functions and variables keep their linkage.
  bool relocatable = false;
  // Products and sums in device code become one operation (-fmad=true), in the host's code they do
  // not.
  bool contract = true;
  // A checker of kernels is told of shared variables and of arguments.
  bool check = false;
  // Folders of headers whose copies are those of devices, for a checker.
  std::vector<std::string> toolkit_folders{};
  // Kernels become loops over threads between their barriers where that is safe (see phases.h).
  bool split = true;
  // Folders whose files have assembler for the host; without links in their paths.
  std::vector<std::string> host_folders{"/usr/"};
  // The C++ of an assembler statement that is not empty.
  std::function<base::Result<std::string>(const AsmStatement&)> translate_asm;
};

// Fails with kSyntax, and with the file and line of the user, for what virtual devices cannot run.
[[nodiscard]] base::Result<std::string> rewrite(std::string_view text,
                                                const RewriteOptions& options);

}  // namespace torchport::cuda
