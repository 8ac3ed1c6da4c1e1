// Fits a fix to the places of its edits: its names are bound where the new text uses them, and its
// strings have quotes that Python can read there. A fix that would raise NameError, or that would
// bring a global into code that is compiled or copied without its module, is not offered.
#pragma once

#include <cstdint>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

class Bindable {
 public:
  explicit Bindable(const PythonContext& context);

  // Whether the fix can be offered. Drops the needs that its places do not have, and sets quotes.
  [[nodiscard]] bool admits(Fix& fix) const;
  // Whether the fix may ask for devices before the program has read its arguments: by the module's
  // variable, in code that runs on import, in an option of a parser.
  [[nodiscard]] bool asks_early(const Fix& fix) const;

 private:
  [[nodiscard]] bool runs_on_import(std::uint32_t offset) const;
  [[nodiscard]] bool is_bound(const Fix& fix) const;
  [[nodiscard]] bool stands_alone(const Edit& edit) const;
  void find_early_bodies();
  void drop_own_import(Fix& fix) const;
  [[nodiscard]] bool set_quotes(Fix& fix) const;

  const SemanticModel& model_;
  const edit::DeviceSource& devices_;
  // In source order; none lies in another one.
  std::vector<base::Span> bodies_;  // of functions
  std::vector<base::Span> imports_;
  std::vector<base::Span> early_;  // bodies that run before the module's variable is bound
};

}  // namespace torchport::rules
