// What one file says about the functions of a project: which it defines, where it calls which, what
// is known about CUDA there, and where the arguments come from. Facts depend on the file's bytes
// only, so they are cached with its findings; summary.h joins those of all files.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/thread_clock.h"
#include "source/flow/file_traits.h"
#include "source/semantics/other_kinds.h"
#include "source/semantics/semantic_model.h"

namespace torchport::flow {

// A function as a file names it. The first character says how:
//   "=f", "=C.m"        a function of the same file
//   "@pkg.mod.f"        by an import; "@.mod.f" by a relative one
//   ".m"                a method m of an object that the file does not know
using Callee = std::string;

// A part of one of the lists of FileFacts.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// The place of a text in FileFacts::texts. One text has one number in a file.
using TextNumber = std::uint32_t;

// Where the tensors in a value come from: Sources, flat.
struct Origins {
  bool elsewhere = false;
  Range inputs;   // of FileFacts::inputs
  Range results;  // of FileFacts::results
};

struct Argument {
  TextNumber keyword = 0;  // of a keyword argument
  Origins origins;
};

constexpr std::uint16_t kModuleCode = 0xFFFF;  // code outside of functions

struct Call {
  TextNumber callee = 0;
  std::uint16_t caller = kModuleCode;  // an index into FileFacts::functions
  bool guarded = false;                // it runs only with CUDA
  bool unknown_arguments = false;      // a reference, or a call with *args or **kwargs
  bool surely = false;                 // a statement of the function's own block is this call
  // The nearest call that has run before this one: its index in FileFacts::calls and one; 0 if
  // none.
  std::uint32_t after = 0;
  Range positional;  // of FileFacts::arguments
  Range keywords;
};

struct Function {
  TextNumber name = 0;        // name_of()
  std::uint32_t same_as = 0;  // the first function of the file with this name, which may be itself
  Range parameters;           // as they are written, with self, * and /
  bool feeds = false;         // its inputs live on the CPU: see feeds_from_cpu()
  std::uint8_t traits = 0;    // of its own body; see traits.h
  Origins results;            // of all values that it returns
  // What it returns, if all its results are alike: a tensor or module on the CPU or on CUDA.
  semantics::Type type = semantics::Type::kUnknown;
  semantics::DeviceState device = semantics::DeviceState::kUnknown;
  std::uint32_t line = 0;  // of the first return
};

struct Class {
  std::string_view name;
  Range bases;  // dotted names, or names of the file
};

struct Import {
  std::string_view name;  // of the module's own code
  std::string_view full;  // dotted
};

// The facts of a file. The texts are in the bytes that they were read from, and lists of lists are
// parts of one list: a project has a million of them, and each would be a piece of memory of its
// own. Copies share the bytes.
struct FileFacts {
  bool kernels = false;  // it imports what only makes or calls CUDA kernels: Triton, an extension
  bool knows_prefix = false;          // see is_prefix_known_elsewhere()
  bool sets_visible_devices = false;  // see the function
  bool sets_after_imports = false;    // see the function
  semantics::CudaOrCpu cuda_or_cpu;
  std::vector<std::string_view> texts;
  std::vector<Function> functions;
  std::vector<TextNumber> parameters;
  std::vector<Class> classes;
  std::vector<std::string_view> bases;
  std::vector<Call> calls;
  std::vector<Argument> arguments;
  std::vector<std::uint16_t> inputs;  // parameters of the function around
  std::vector<TextNumber> results;    // functions, each a Callee
  std::vector<Import> imports;
  std::vector<std::string_view> cuda_flags;  // sorted; see flags.h
  FileTraits whole;
  std::vector<std::uint32_t> functions_by_name;  // sorted; only the first of each name
  std::vector<std::uint32_t> imports_by_name;    // sorted; the last of a name is what it means
  std::shared_ptr<const std::string> packed;     // the bytes

  [[nodiscard]] std::string_view text(TextNumber number) const { return texts[number]; }
  template <class Item>
  [[nodiscard]] static std::span<const Item> part(const std::vector<Item>& list, Range range) {
    return std::span(list).subspan(range.first, range.count);
  }
  // The first function with the name that these two make together.
  [[nodiscard]] std::optional<std::uint32_t> function_named(std::string_view name,
                                                            std::string_view end = {}) const;
  // The dotted name of what a name of the module means by an import; none if no import binds it.
  [[nodiscard]] std::optional<std::string_view> imported(std::string_view name) const;
};

using Time = base::ThreadClock::time_point;

// The facts of a file; none if they cannot be collected until then. The cost is linear in the
// file's size.
[[nodiscard]] std::optional<FileFacts> collect_facts(const semantics::SemanticModel& model,
                                                     Time until = Time::max());

// Whether a function of the file, or its block `if __name__ == "__main__":`, sets
// CUDA_VISIBLE_DEVICES or may set it, or the file forks: that has to come before CUDA is asked for
// anything.
[[nodiscard]] bool sets_visible_devices(const semantics::SemanticModel& model);

// Whether the file's own code sets it when it is imported, after it has imported what may be
// modules of the project: these are then not to ask for anything when they are imported.
[[nodiscard]] bool sets_after_imports(const semantics::SemanticModel& model);

// The name of a function in its file: "f", "C.m", "f.g" for a function in a function.
[[nodiscard]] std::string name_of(syntax::Node function);

// Whether a function runs where data is prepared, before anything is moved to a device: methods of
// datasets and samplers, collate functions, transforms.
[[nodiscard]] bool feeds_from_cpu(const semantics::SemanticModel& model, syntax::Node function);

// Reads facts from their bytes, FileFacts::packed; none for bytes that are not of facts.
[[nodiscard]] std::optional<FileFacts> unpack_facts(std::string packed);
// Facts of a file of which nothing but its imports is known.
[[nodiscard]] FileFacts facts_of_imports(std::vector<std::pair<std::string, std::string>> imports);

}  // namespace torchport::flow
