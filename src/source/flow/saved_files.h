// Finds the files of tensors and modules that a program saves, and where what it saves was.
#pragma once

#include <string>
#include <vector>

#include "source/semantics/semantic_model.h"

namespace torchport::flow {

// A file of weights that the program saves.
struct SavedFile {
  std::string name;       // literal_end() of its path
  bool from_cpu = false;  // what is saved is certainly on the CPU
};

// The literal parts at the end of a path: "weights/emb.pth" for `os.path.join(folder, "weights",
// "emb.pth")`, a constant's text. "" if the path has no such end.
[[nodiscard]] std::string literal_end(const semantics::SemanticModel& model, syntax::Node path);

[[nodiscard]] std::vector<SavedFile> saved_files(const semantics::SemanticModel& model);

}  // namespace torchport::flow
