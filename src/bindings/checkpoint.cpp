#include <pybind11/stl.h>
#include <torchport/checkpoint.h>

#include "bindings/part.h"

namespace torchport::bindings {

namespace {

namespace py = pybind11;

using Pairs = std::vector<std::pair<std::string, at::Tensor>>;

std::pair<std::string, Pairs> load(const std::string& path, c10::Device device, bool map,
                                   std::optional<at::ScalarType> dtype) {
  LoadOptions options;
  options.device = device;
  options.map = map;
  options.dtype = dtype;
  LoadedTensors loaded;
  {
    py::gil_scoped_release release;
    loaded = load_tensors(path, options);
  }
  Pairs pairs;
  for (NamedTensor& named : loaded.tensors)
    pairs.emplace_back(std::move(named.name), std::move(named.tensor));
  return {loaded.format, std::move(pairs)};
}

void save(const std::string& path, const Pairs& pairs,
          const std::vector<std::pair<std::string, std::string>>& metadata) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : pairs) tensors.push_back({name, tensor});
  py::gil_scoped_release release;
  save_safetensors(path, tensors, metadata);
}

std::vector<TensorSlot> slots_of(const Pairs& pairs) {
  std::vector<TensorSlot> slots;
  for (const auto& [name, tensor] : pairs)
    slots.push_back({name, tensor.sizes().vec(), tensor.scalar_type()});
  return slots;
}

void define_checkpoint(py::module_& module) {
  py::class_<FileSummary>(module, "FileSummary")
      .def_readonly("format", &FileSummary::format)
      .def_readonly("fault", &FileSummary::fault)
      .def_readonly("refused", &FileSummary::refused)
      .def_readonly("mappable", &FileSummary::mappable);
  py::class_<LoadReport::Mismatch>(module, "Mismatch")
      .def_readonly("name", &LoadReport::Mismatch::name)
      .def_readonly("wanted", &LoadReport::Mismatch::wanted)
      .def_readonly("given", &LoadReport::Mismatch::given);
  py::class_<LoadReport>(
      module, "LoadReport",
      R"(The differences between a checkpoint and a module. Its text is a summary.

Attributes:
    missing: Names that only the module has.
    unexpected: Names that only the checkpoint has.
    shapes: Tensors of another shape, each with name, wanted and given.
    dtypes: Tensors of another dtype, each with name, wanted and given.
    remapped: The changes of names that made them match.
    hint: The option that makes more names match; empty if there is none.
    complete: Whether all names and shapes match.

Example:
    >>> torchport.save({"weight": torch.ones(2, 2)}, "part.safetensors")
    >>> report = torchport.load_report("part.safetensors", torch.nn.Linear(2, 3))
    >>> report.missing, report.complete
    (['bias'], False)
    >>> one = report.shapes[0]
    >>> one.name, one.wanted, one.given
    ('weight', '[3, 2]', '[2, 2]'))")
      .def_readonly("missing", &LoadReport::missing)
      .def_readonly("unexpected", &LoadReport::unexpected)
      .def_readonly("shapes", &LoadReport::shapes)
      .def_readonly("dtypes", &LoadReport::dtypes)
      .def_readonly("remapped", &LoadReport::remapped)
      .def_readonly("hint", &LoadReport::hint)
      .def_property_readonly("complete", &LoadReport::complete)
      .def("__str__", &LoadReport::text);
  module.def("load_tensors", &load, py::arg("path"), py::arg("device"), py::arg("map"),
             py::arg("dtype"));
  module.def("save_safetensors", &save, py::arg("path"), py::arg("tensors"), py::arg("metadata"));
  module.def("summarize", &summarize, py::arg("path"));
  module.def(
      "plan_load",
      [](const Pairs& wanted, const Pairs& given, bool remap_prefixes,
         const std::vector<std::vector<std::string>>& ties) {
        LoadPlan plan = plan_load(slots_of(wanted), slots_of(given), remap_prefixes, ties);
        return std::pair(std::move(plan.pairs), std::move(plan.report));
      },
      py::arg("wanted"), py::arg("given"), py::arg("remap_prefixes"), py::arg("ties"));
}

const Part kCheckpoint{&define_checkpoint};

}  // namespace

}  // namespace torchport::bindings
