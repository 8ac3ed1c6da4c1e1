// Declares the parts of `torchport build-plan` that read and write files of a build.
#pragma once

#include <string>
#include <vector>

#include "build_gate/build_plan.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace torchport::cli {

// What torchport's code for build tools asks for after the extension's own sources are compiled.
struct ExtensionStubOptions {
  std::string output;
  std::string extension;
  std::string built_by;
  std::vector<std::string> cuda_sources;
  std::vector<std::string> objects;
};
void add_extension_stub_options(CLI::App& command, ExtensionStubOptions& options);

// Writes the source of the extension stub (build_gate/extension_stub.h). A file that has this
// content already is not touched, so that nothing is compiled again. Returns an exit code.
[[nodiscard]] int write_extension_stub(const build_gate::BuildInputs& inputs,
                                       const build_gate::BuildPlan& plan,
                                       const ExtensionStubOptions& options);

// Heeds what a setup.py does whatever the plan says: one that makes a CUDAExtension in any case
// turns a plan for the CPU into a refusal, and architectures of its own void those of the plan. The
// script is read, not run. Fails if it cannot be read.
[[nodiscard]] base::Result<void> heed_setup(const std::string& path, build_gate::BuildPlan& plan);

// Implements `--of FILE` for an extension, or a wheel that has some. Returns an exit code: 1 if the
// file has no note or contradicts it, 2 for a file of another kind.
[[nodiscard]] int print_provenance(const std::string& path, bool json);

}  // namespace torchport::cli
