// What a file does as a whole, as far as other files care.
#pragma once

#include <string>
#include <vector>

#include "source/flow/saved_files.h"
#include "source/semantics/semantic_model.h"

namespace torchport::flow {

struct FileTraits {
  bool starts_cuda = false;                 // when it is imported; see early_cuda.h
  bool patches_moves = false;               // see semantics/own_moves.h
  bool scripts = false;                     // it gives something to TorchScript
  std::vector<std::string> caught_imports;  // dotted names whose absence it handles
  std::vector<std::string> stars;           // the modules of `from module import *`, but torch's
  std::vector<SavedFile> saved;
};

// Linear in the file's size.
[[nodiscard]] FileTraits file_traits_of(const semantics::SemanticModel& model);

}  // namespace torchport::flow
