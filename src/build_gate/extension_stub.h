// Writes the C++ source that every build with the gate compiles into its extension. It contains the
// note on how the extension was built and, if the CUDA part is not built, stubs that raise an error
// which says so. Without stubs such an extension fails at import with an unresolved symbol.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "build_gate/provenance.h"

namespace torchport::build_gate {

// What the CUDA or SYCL sources that are not compiled would have added.
struct CudaPart {
  std::vector<std::string> sources;  // their text
  std::vector<std::string> objects;  // the extension's other objects, as bytes
};

// The symbols of functions in the CUDA sources that the objects call and none of them defines.
// Fails with kSyntax for an object that is not an ELF file.
[[nodiscard]] base::Result<std::vector<std::string>> missing_functions(const CudaPart& part);

// The operators for which the sources register kernels.
struct CudaOperators {
  std::vector<std::string> namespaces;      // TORCH_LIBRARY_IMPL(ns, CUDA, m)
  std::vector<std::string> xpu_namespaces;  // TORCH_LIBRARY_IMPL(ns, XPU, m)
  std::vector<std::string> names;  // string literals that can be an operator's: "nms", "a.out"
};
[[nodiscard]] CudaOperators cuda_operators(const std::vector<std::string>& sources);

// Writes the source; with an empty `part`, the note alone. The result has to be linked after the
// extension's own objects, so that their operators are registered before the stubs.
[[nodiscard]] base::Result<std::string> extension_stub_source(const Provenance& provenance,
                                                              const CudaPart& part);

}  // namespace torchport::build_gate
