// Compiles CUDA C++ for virtual devices with the host's compiler, as nvcc's command line asks for
// it.
#pragma once

#include <string>

#include "base/result.h"
#include "cuda/compiler/options.h"

namespace torchport::cuda {

struct Toolkit {
  std::string folder;                 // with include/ and lib64/
  std::vector<std::string> includes;  // folders of further headers (cub, thrust), may be empty
  // The build of this compiler, as an integer literal that is not 0. It stands in what -E writes,
  // by which ccache knows an object.
  std::string number = "1";
};

// Does what the options say, and prints what the host's compiler prints. Returns the exit code of
// the step that failed, or 0. Fails with kUsage or kIo, and with kSyntax for a source that virtual
// devices cannot run.
[[nodiscard]] base::Result<int> compile(const NvccOptions& options, const Toolkit& toolkit);

}  // namespace torchport::cuda
