// The C++ source that every build with the gate compiles into its extension: the note on how it was
// built and, if the CUDA part is not built, stubs that say so when they are called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "build_gate/provenance.h"

namespace torchport::build_gate {

// What CUDA sources that are not compiled would have brought.
struct CudaPart {
  std::vector<std::string> sources;  // their text
  std::vector<std::string> objects;  // the extension's other objects, as bytes
};

// Functions of the CUDA sources that the objects call and none of them defines, by their symbols.
// kSyntax for an object that is not an ELF file.
[[nodiscard]] base::Result<std::vector<std::string>> missing_functions(const CudaPart& part);

// What the sources register kernels for.
struct CudaOperators {
  std::vector<std::string> namespaces;  // TORCH_LIBRARY_IMPL(ns, CUDA, m)
  std::vector<std::string> names;       // string literals that can be an operator's: "nms", "a.out"
};
[[nodiscard]] CudaOperators cuda_operators(const std::vector<std::string>& sources);

// With an empty `part`: the note alone. It has to be linked behind the extension's own objects, so
// that its operators are registered when the stubs are.
[[nodiscard]] base::Result<std::string> extension_stub_source(const Provenance& provenance,
                                                              const CudaPart& part);

}  // namespace torchport::build_gate
