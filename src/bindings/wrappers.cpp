#include "runtime/checkpoint/wrappers.h"

#include <map>

#include <pybind11/stl.h>

#include "bindings/part.h"

namespace torchport::bindings {

namespace {

namespace py = pybind11;

std::map<std::string, std::string> wrapped_attributes() {
  std::map<std::string, std::string> attributes;
  for (const checkpoint::Wrapper& wrapper : checkpoint::kWrappers) {
    if (!wrapper.attribute.empty()) attributes.emplace(wrapper.type, wrapper.attribute);
  }
  return attributes;
}

void define_wrappers(py::module_& module) {
  module.def("wrapped_attributes", &wrapped_attributes);
}

const Part kWrappers{&define_wrappers};

}  // namespace

}  // namespace torchport::bindings
