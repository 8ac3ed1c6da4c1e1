// Finds the functions that leave their module: what TorchScript compiles, and what
// inspect.getsource copies. A fix brings no global of the module into them.
#pragma once

#include <cstdint>
#include <vector>

#include "source/edit/spans.h"
#include "source/semantics/semantic_model.h"

namespace torchport::edit {

class StandAlone {
 public:
  explicit StandAlone(const semantics::SemanticModel& model);

  // Whether the code at this offset is compiled by TorchScript, which knows few functions and no
  // global variables.
  [[nodiscard]] bool is_compiled(std::uint32_t offset) const { return covers(compiled_, offset); }
  [[nodiscard]] bool is_copied(std::uint32_t offset) const { return covers(copied_, offset); }

 private:
  std::vector<base::Span> compiled_;
  std::vector<base::Span> copied_;
};

}  // namespace torchport::edit
