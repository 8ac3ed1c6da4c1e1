// What one file says about the functions of a project: which it defines, where it calls which, what
// is known about CUDA there, and where the arguments come from. Facts depend on the file's bytes
// only, so they are cached with its findings; summary.h joins those of all files.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/flow/file_traits.h"
#include "source/semantics/semantic_model.h"

namespace torchport::flow {

// A function as a file names it. The first character says how:
//   "=f", "=C.m"        a function of the same file
//   "@pkg.mod.f"        by an import; "@.mod.f" by a relative one
//   ".m"                a method m of an object that the file does not know
using Callee = std::string;

// Where the tensors in a value come from. Without any source, it has none, or they were made on the
// CPU.
struct Sources {
  bool elsewhere = false;             // from where the file does not say, or moved to a device
  std::vector<std::uint16_t> inputs;  // parameters of the function around it
  std::vector<Callee> results;        // functions whose results it contains

  void add(const Sources& other);
  [[nodiscard]] bool operator==(const Sources&) const = default;
};

constexpr std::uint16_t kModuleCode = 0xFFFF;  // code outside of functions

struct Call {
  Callee callee;
  std::uint16_t caller = kModuleCode;  // an index into FileFacts::functions
  bool guarded = false;                // it runs only with CUDA
  bool unknown_arguments = false;      // a reference, or a call with *args or **kwargs
  bool surely = false;                 // a statement of the function's own block is this call
  // The nearest call that has run before this one: its index in FileFacts::calls and one; 0 if
  // none.
  std::uint32_t after = 0;
  std::vector<Sources> positional;
  std::vector<std::pair<std::string, Sources>> keywords;
};

struct Function {
  std::string name;                     // name_of()
  std::vector<std::string> parameters;  // as they are written, with self, * and /
  bool feeds = false;                   // its inputs live on the CPU: see feeds_from_cpu()
  Sources results;                      // of all values that it returns
  // What it returns, if all its results are alike: a tensor or module on the CPU or on CUDA.
  semantics::Type type = semantics::Type::kUnknown;
  semantics::DeviceState device = semantics::DeviceState::kUnknown;
  std::uint32_t line = 0;   // of the first return
  std::uint8_t traits = 0;  // of its own body; see traits.h
};

struct Class {
  std::string name;
  std::vector<std::string> bases;  // dotted names, or names of the file
};

struct FileFacts {
  bool kernels = false;  // it imports what only makes or calls CUDA kernels: Triton, an extension
  bool drops_prefix = false;          // it takes `module.` from the keys of a state dict
  bool sets_visible_devices = false;  // a function of it sets CUDA_VISIBLE_DEVICES
  std::vector<Function> functions;
  std::vector<Class> classes;
  std::vector<Call> calls;
  std::vector<std::pair<std::string, std::string>> imports;  // name of the module -> dotted name
  std::vector<std::string> cuda_flags;                       // sorted; see flags.h
  FileTraits whole;
};

using Time = std::chrono::steady_clock::time_point;

// The facts of a file; none if they cannot be collected until then. The cost is linear in the
// file's size.
[[nodiscard]] std::optional<FileFacts> collect_facts(const semantics::SemanticModel& model,
                                                     Time until = Time::max());

// Whether a function of the file sets CUDA_VISIBLE_DEVICES: it has to run before CUDA is asked for
// anything.
[[nodiscard]] bool sets_visible_devices(const semantics::SemanticModel& model);

// The name of a function in its file: "f", "C.m", "f.g" for a function in a function.
[[nodiscard]] std::string name_of(syntax::Node function);

// Whether a function runs where data is prepared, before anything is moved to a device: methods of
// datasets and samplers, collate functions, transforms.
[[nodiscard]] bool feeds_from_cpu(const semantics::SemanticModel& model, syntax::Node function);

// Facts as bytes, and back. unpack_facts() returns false for bytes that pack_facts() did not write.
[[nodiscard]] std::string pack_facts(const FileFacts& facts);
[[nodiscard]] bool unpack_facts(std::string_view packed, FileFacts& facts);

}  // namespace torchport::flow
