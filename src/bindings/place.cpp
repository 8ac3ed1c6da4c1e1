#include <pybind11/stl.h>
#include <torchport/device.h>

#include "bindings/part.h"

namespace torchport::bindings {

namespace {

namespace py = pybind11;

void define_devices(py::module_& module) {
  py::class_<DeviceChoice>(module, "DeviceChoice",
                           R"(A chosen device, with the reason.

Attributes:
    device: The torch.device.
    source: The setting that named it, such as "argument" or "TORCHPORT_DEVICE".
    reason: Why it was chosen.
    refused: A line for each preferred device that cannot be used.

Example:
    >>> choice = torchport.choose_device("cpu")
    >>> choice.device, choice.source, choice.refused
    (device(type='cpu'), 'argument', []))")
      .def_readonly("device", &DeviceChoice::device)
      .def_readonly("source", &DeviceChoice::source)
      .def_readonly("reason", &DeviceChoice::reason)
      .def_readonly("refused", &DeviceChoice::refused);
  py::class_<RunProfile>(module, "RunProfile")
      .def_readonly("name", &RunProfile::name)
      .def_readonly("file", &RunProfile::file)
      .def_readonly("device", &RunProfile::device)
      .def_readonly("dtype", &RunProfile::dtype)
      .def_readonly("batch_size", &RunProfile::batch_size)
      .def_readonly("workers", &RunProfile::workers);
  module.def(
      "choose_device",
      [](const std::string& wanted, std::optional<int> local_rank) {
        return choose_device({wanted, local_rank, {}});
      },
      py::arg("wanted") = "", py::arg("local_rank") = std::nullopt);
  module.def("run_profile", &run_profile, py::arg("name") = "", py::arg("folder") = "");
  module.def("free_memory", &free_memory, py::arg("device"));
}

const Part kPlace{&define_devices};

}  // namespace

}  // namespace torchport::bindings
