#include <vector>

#include "bindings/part.h"

namespace torchport::bindings {

namespace {

std::vector<void (*)(pybind11::module_&)>& parts() {
  static std::vector<void (*)(pybind11::module_&)> list;
  return list;
}

}  // namespace

Part::Part(void (*define)(pybind11::module_& module)) {
  parts().push_back(define);
}

}  // namespace torchport::bindings

PYBIND11_MODULE(_C, module) {
  for (const auto define : torchport::bindings::parts()) define(module);
}
