// Says whether the names that a fix relies on are bound where its new text uses them. A fix that
// would raise NameError, or that would bring a global into code that is compiled or copied without
// its module, is not offered.
#pragma once

#include <cstdint>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

class Bindable {
 public:
  explicit Bindable(const PythonContext& context);

  [[nodiscard]] bool holds(const Fix& fix) const;

 private:
  [[nodiscard]] bool runs_on_import(std::uint32_t offset) const;

  const edit::DeviceSource& devices_;
  // In source order; none lies in another one.
  std::vector<base::Span> bodies_;  // of functions
  std::vector<base::Span> imports_;
  std::vector<base::Span> stand_alones_;  // what TorchScript compiles and inspect.getsource copies
};

}  // namespace torchport::rules
