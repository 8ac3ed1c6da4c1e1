// Joins the facts of all files: which functions run only with CUDA because all their callers check,
// and which parameters always get what lives on the CPU.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "source/flow/facts.h"
#include "source/flow/packages.h"

namespace torchport::flow {

// What other code would have to do for a finding to be void: the callers of a function of the same
// file, or the file that defines a flag.
struct Condition {
  enum class Kind : std::uint8_t {
    kCalledWithCuda,  // every call of the function runs only with CUDA
    kFedFromCpu,      // every call passes what lives on the CPU for these parameters
    kFlagOfCuda,      // a name is true only with CUDA
    kGiven,           // some call gives this parameter a value, so that its default is not used
    // Of the functions that are named by `parameters`, as a Callee each:
    kRefused,    // one refuses what is not on CUDA
    kWritten,    // one saves a file
    kGivesCpu,   // each replaces a device that is not available by the CPU
    kEvaluated,  // each returns its module in evaluation mode
    // Of the file:
    kSavedFromCpu,       // the project saves what has the name `function`, always from the CPU
    kStartedByNoImport,  // no module of the project that it imports starts CUDA then
    kImportedWithCare,   // whoever imports it goes on without it
    kAloneInFolder,      // no other file beside it speaks of torch
    kKeptToCuda,         // cuda_or_cpu(): it, or what shares tensors with it, is well there only
    kPrefixKnown,        // is_prefix_known_elsewhere()
    kUsedElsewhere,      // is_used_elsewhere(), of `function`
    kChoosesLate,        // chooses_devices_late()
    // Of the project:
    kOwnMoves,     // has_own_cuda_method()
    kScriptsCode,  // scripts_code()
  };
  Kind kind = Kind::kCalledWithCuda;
  // name_of(). kSavedFromCpu: literal_end(). kFlagOfCuda: "@pkg.mod.HAS_CUDA" by an import, "=C.on"
  // for an attribute of a class
  std::string function;
  std::vector<std::string> parameters;  // kFedFromCpu: all of these; kGiven: this one
};

// The path of a file and its facts.
struct FileOfProject {
  std::string path;
  FileFacts facts;
};

// Where the results of a function live.
struct Result {
  semantics::Type type = semantics::Type::kUnknown;
  semantics::DeviceState device = semantics::DeviceState::kUnknown;
  std::string path;  // of the file with the function
  std::uint32_t line = 0;

  [[nodiscard]] bool operator==(const Result&) const = default;
};

// Immutable after construction, so any thread may ask it. Names are resolved by the paths:
// `pkg.mod` is a file that ends with pkg/mod.py. A name that fits several files, and a method that
// several classes have, are no evidence that a function is called.
class Summary {
 public:
  struct Joined;  // joined.h; nobody but the layer knows it

  explicit Summary(std::vector<FileOfProject> files);
  ~Summary();
  Summary(const Summary&) = delete;
  Summary& operator=(const Summary&) = delete;

  // Whether the condition holds for a function of the file with this path. False for functions that
  // nothing of the project calls.
  [[nodiscard]] bool holds(std::string_view path, const Condition& condition) const;
  // The last parts of the names of all functions for which some condition holds. If a file without
  // facts contains one of these words, it may call the function.
  [[nodiscard]] std::vector<std::string> settled_names() const;
  // What a call in the file with this path returns, if it can only be one function and all results
  // of that one are alike.
  [[nodiscard]] std::optional<Result> result_of(std::string_view path, const Callee& callee) const;
  // Whether another file imports a name of the file with this path, or calls it there.
  [[nodiscard]] bool is_used_elsewhere(std::string_view path, std::string_view name) const;
  // Whether another file takes `module.` from the keys of a state dict, or loads one into a wrapper
  // that needs it.
  [[nodiscard]] bool is_prefix_known_elsewhere(std::string_view path) const;
  // Whether a program may run the file with this path before one of its functions sets
  // CUDA_VISIBLE_DEVICES.
  [[nodiscard]] bool chooses_devices_late(std::string_view path) const;
  // What of the file with this path, and of those that it may share tensors with, is well on CUDA
  // and the CPU only.
  [[nodiscard]] semantics::CudaOrCpu cuda_or_cpu(std::string_view path) const;
  // Whether a class of the project has a method `cuda` of its own, which `.to()` would pass by.
  [[nodiscard]] bool has_own_cuda_method() const;
  // Whether some file gives code to TorchScript, which may be that of another file.
  [[nodiscard]] bool scripts_code() const;
  // Whether a star of another file may bring all public names of the file with this path there.
  [[nodiscard]] bool is_imported_by_star(std::string_view path) const;
  // Which files are parts of packages, as the imports of all files show.
  [[nodiscard]] Packages packages() const;
  // The folders in which nearly all files are CUDA kernels, or test and measure them; no folder in
  // another one. "" is the folder of relative paths.
  [[nodiscard]] const std::vector<std::string>& kernel_folders() const;
  // The files that test, measure or show CUDA kernels, in whatever folder.
  [[nodiscard]] const std::vector<std::string>& kernel_tests() const;
  // Joins again with unknown callers of the functions with these names.
  void doubt(const std::vector<std::string>& names);

 private:
  std::unique_ptr<Joined> joined_;
};

}  // namespace torchport::flow
