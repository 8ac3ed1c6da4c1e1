// One part of torchport._C; every file of this folder registers its own.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace torchport::bindings {

struct Part {
  explicit Part(void (*define)(pybind11::module_& module));
};

}  // namespace torchport::bindings
