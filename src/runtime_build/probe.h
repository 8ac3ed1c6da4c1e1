// Compares what torchport's sources need with what a torch has, for who adds a release to the
// table: the interfaces of C++ (by compiling), the schemas of operators, the names of torch._C, and
// the symbols. torch is not imported, so that a folder of headers and libraries is enough.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime_build/build.h"

namespace torchport::runtime_build {

// One thing that the sources need and the torch does not have.
struct Lack {
  std::string file;        // of torchport's sources
  std::uint32_t line = 0;  // 0: unknown
  std::string name;        // an operator, a name of torch._C, a symbol; empty for an error in C++
  std::string what;
};

// The first error of a compiler for each line of a file; paths begin with src/ or include/.
[[nodiscard]] std::vector<Lack> compile_errors(std::string_view log);

// A place in a file where a name stands.
struct Use {
  std::string file;
  std::uint32_t line = 0;
  std::string name;
};

// `aten.impl("name", ...)` of a C++ file.
[[nodiscard]] std::vector<Use> registered_operators(std::string_view text, const std::string& file);
// `"_name":` of a Python file: the keys of what a shim adds to torch._C.
[[nodiscard]] std::vector<Use> added_names(std::string_view text, const std::string& file);

// The operators that native_functions.yaml of `torch` lacks, or has with another schema than that
// of `reference`, a torch that the sources were written for.
[[nodiscard]] std::vector<Lack> compare_schemas(const std::vector<Use>& operators,
                                                std::string_view torch, std::string_view reference);

struct Probed {
  std::vector<Lack> lacks;
  std::vector<std::string> not_checked;  // sentences
  Built built;                           // the state kStopped or kNoSpace: nothing else counts
};

// Compiles all sources against request.torch, which takes minutes, and compares. `package` is the
// Python package, and `reference` the folder of a torch that it has libraries for. Fails with kIo.
[[nodiscard]] base::Result<Probed> probe(const BuildRequest& request, const std::string& package,
                                         const std::string& reference);

}  // namespace torchport::runtime_build
