// Registers one part of torchport._C. Each file of this folder defines one, so no list names them.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace torchport::bindings {

struct Part {
  explicit Part(void (*define)(pybind11::module_& module));
};

}  // namespace torchport::bindings
