// Finds out how a module comes by torch. Many modules do so only in a function, for type checkers,
// or if torch is installed: a line at module level that needs torch would break them, or make every
// import of them slow.
#pragma once

#include <cstdint>
#include <string>

#include "source/semantics/semantic_model.h"

namespace torchport::edit {

struct TorchImport {
  explicit TorchImport(const semantics::SemanticModel& model);

  std::string name = "torch";      // under which the file knows torch: "torch", "th"
  semantics::Node statement;       // the statement that binds it in every run, at module level
  semantics::Node first_of_torch;  // the module's first import of torch or of a part of it
  bool delayed = false;            // torch is imported somewhere, but not whenever the module is
};

// Whether a name for torch is bound when the code at `at` runs. That an import may have failed does
// not matter: that code needs torch.
[[nodiscard]] bool is_torch_bound(const semantics::SemanticModel& model, std::string_view name,
                                  semantics::Node at);

}  // namespace torchport::edit
