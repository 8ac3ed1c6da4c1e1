#include "base/bytes.h"
#include "bindings/part.h"

namespace torchport::bindings {

namespace {

namespace py = pybind11;

std::uint64_t parse_size(const std::string& text) {
  const auto bytes = base::parse_size(text);
  if (!bytes) throw py::value_error("torchport: " + bytes.error().message);
  return *bytes;
}

void define_sizes(py::module_& module) {
  module.def("parse_size", &parse_size, py::arg("text"));
}

const Part kSizes{&define_sizes};

}  // namespace

}  // namespace torchport::bindings
