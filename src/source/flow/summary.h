// Joins the facts of all files: which functions run only with CUDA because all their callers check,
// and which parameters always get what lives on the CPU.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "source/flow/facts.h"

namespace torchport::flow {

// What the callers of a function of the same file would have to do for a finding to be void.
struct Condition {
  enum class Kind : std::uint8_t {
    kCalledWithCuda,  // every call of the function runs only with CUDA
    kFedFromCpu,      // every call passes what lives on the CPU for these parameters
  };
  Kind kind = Kind::kCalledWithCuda;
  std::string function;                 // name_of()
  std::vector<std::string> parameters;  // kFedFromCpu: all of these
};

// The path of a file and its facts.
struct FileOfProject {
  std::string path;
  FileFacts facts;
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
  // Whether another file imports a name of the file with this path, or calls it there.
  [[nodiscard]] bool is_used_elsewhere(std::string_view path, std::string_view name) const;
  // Whether another file takes `module.` from the keys of a state dict.
  [[nodiscard]] bool is_prefix_dropped_elsewhere(std::string_view path) const;
  // The folders in which nearly all files are CUDA kernels, or test and measure them; no folder in
  // another one. "" is the folder of relative paths.
  [[nodiscard]] std::vector<std::string> kernel_folders() const;
  // Joins again with unknown callers of the functions with these names.
  void doubt(const std::vector<std::string>& names);

 private:
  std::unique_ptr<Joined> joined_;
};

}  // namespace torchport::flow
