#include <pybind11/stl.h>
#include <torchport/observe.h>

#include "bindings/part.h"
#include "bindings/source_locations.h"

namespace torchport::bindings {

namespace {

namespace py = pybind11;

void define_facts(py::module_& module) {
  py::class_<TensorFacts>(module, "TensorFacts")
      .def_readonly("tensor", &TensorFacts::tensor)
      .def_readonly("storage", &TensorFacts::storage)
      .def_readonly("device", &TensorFacts::device)
      .def_readonly("dtype", &TensorFacts::dtype)
      .def_readonly("bytes", &TensorFacts::bytes)
      .def_readonly("sizes", &TensorFacts::sizes);
  py::enum_<CallKind>(module, "CallKind")
      .value("computed", CallKind::kComputed)
      .value("made", CallKind::kMade)
      .value("moved", CallKind::kMoved)
      .value("read", CallKind::kRead);
  py::class_<CallFacts>(module, "CallFacts")
      .def_readonly("call", &CallFacts::call)
      .def_readonly("op", &CallFacts::op)
      .def_readonly("kind", &CallFacts::kind)
      .def_readonly("scope", &CallFacts::scope)
      .def_readonly("place", &CallFacts::place)
      .def_readonly("from_device", &CallFacts::from)
      .def_readonly("to_device", &CallFacts::to);
  py::class_<Participant>(module, "Participant")
      .def_readonly("argument", &Participant::argument)
      .def_readonly("tensor", &Participant::tensor)
      .def_readonly("facts", &Participant::facts)
      .def_readonly("story", &Participant::story)
      .def_readonly("root", &Participant::root);
}

void define_sums(py::module_& module) {
  py::class_<Scope>(module, "Scope")
      .def_readonly("module", &Scope::module)
      .def_readonly("place", &Scope::place);
  py::class_<ModuleSum>(module, "ModuleSum")
      .def_readonly("module", &ModuleSum::module)
      .def_readonly("operators", &ModuleSum::operators)
      .def_readonly("with_grad", &ModuleSum::with_grad)
      .def_readonly("with_autocast", &ModuleSum::with_autocast);
  py::class_<ResultSum>(module, "ResultSum")
      .def_readonly("module", &ResultSum::module)
      .def_readonly("device", &ResultSum::device)
      .def_readonly("dtype", &ResultSum::dtype)
      .def_readonly("count", &ResultSum::count)
      .def_readonly("bytes", &ResultSum::bytes);
  py::class_<FlowSum>(module, "FlowSum")
      .def_readonly("source", &FlowSum::from)
      .def_readonly("target", &FlowSum::to)
      .def_readonly("device", &FlowSum::device)
      .def_readonly("count", &FlowSum::count)
      .def_readonly("bytes", &FlowSum::bytes);
  py::class_<TransferSum>(module, "TransferSum")
      .def_readonly("kind", &TransferSum::kind)
      .def_readonly("op", &TransferSum::op)
      .def_readonly("module", &TransferSum::module)
      .def_readonly("place", &TransferSum::place)
      .def_readonly("from_device", &TransferSum::from)
      .def_readonly("to_device", &TransferSum::to)
      .def_readonly("waits", &TransferSum::waits)
      .def_readonly("backward", &TransferSum::backward)
      .def_readonly("count", &TransferSum::count)
      .def_readonly("bytes", &TransferSum::bytes);
}

void define_observed(py::module_& module) {
  py::class_<Result>(module, "Intermediate")
      .def_readonly("call", &Result::call)
      .def_readonly("module", &Result::module)
      .def_readonly("facts", &Result::facts);
  py::class_<MixedCall>(module, "MixedCall")
      .def_readonly("call", &MixedCall::call)
      .def_readonly("backward", &MixedCall::backward)
      .def_readonly("forward", &MixedCall::forward)
      .def_readonly("participants", &MixedCall::participants)
      .def_readonly("message", &MixedCall::message);
  py::class_<NotFiniteCall>(module, "NotFiniteCall")
      .def_readonly("call", &NotFiniteCall::call)
      .def_readonly("nan", &NotFiniteCall::nan)
      .def_readonly("result", &NotFiniteCall::result)
      .def_readonly("participants", &NotFiniteCall::participants);
  py::class_<Observed>(module, "Observed")
      .def_readonly("operators", &Observed::operators)
      .def_readonly("unrecorded", &Observed::unrecorded)
      .def_readonly("scopes", &Observed::scopes)
      .def_readonly("modules", &Observed::modules)
      .def_readonly("results", &Observed::results)
      .def_readonly("flows", &Observed::flows)
      .def_readonly("transfers", &Observed::transfers)
      .def_readonly("intermediates", &Observed::intermediates)
      .def_readonly("mixed", &Observed::mixed)
      .def_readonly("mixed_count", &Observed::mixed_count)
      .def_readonly("nan", &Observed::nan)
      .def_readonly("infinity", &Observed::infinity);
}

// An observation with the numbering of its places, which is valid while this object lives.
struct PyObservation {
  PyObservation(std::vector<std::string> passed_over, bool every_place, bool check_finite,
                std::size_t max_calls)
      : places(std::move(passed_over)),
        observation(options(every_place, check_finite, max_calls)) {}

  static ObserveOptions options(bool every_place, bool check_finite, std::size_t max_calls) {
    ObserveOptions options;
    options.place = &location_here;
    options.every_place = every_place;
    options.check_finite = check_finite;
    options.max_calls = max_calls;
    return options;
  }

  KeptPlaces places;
  Observation observation;
};

void define_observing(py::module_& module) {
  define_facts(module);
  define_sums(module);
  define_observed(module);
  py::class_<PyObservation>(module, "Observation")
      .def(py::init<std::vector<std::string>, bool, bool, std::size_t>(), py::arg("passed_over"),
           py::arg("every_place") = false, py::arg("check_finite") = false,
           py::arg("max_calls") = std::size_t{1} << 20U)
      .def("finish", [](PyObservation& self) { return self.observation.finish(); })
      .def("watches_this_thread",
           [](const PyObservation& self) { return self.observation.watches_this_thread(); })
      .def(
          "enter", [](PyObservation& self, std::uint32_t m) { return self.observation.enter(m); },
          py::arg("module"))
      .def("leave", [](PyObservation& self) { return self.observation.leave(); });
  py::class_<ObservedThread>(module, "ObservedThread")
      .def_static("current", &ObservedThread::current)
      .def("join", &ObservedThread::join);
  module.def("tensor_number", &tensor_number, py::arg("tensor"));
  module.def("storage_number", &storage_number, py::arg("tensor"));
  py::class_<SourceLocation>(module, "SourceLocation")
      .def_readonly("file", &SourceLocation::file)
      .def_readonly("function", &SourceLocation::function)
      .def_readonly("line", &SourceLocation::line)
      .def_readonly("end_line", &SourceLocation::end_line)
      .def_readonly("column", &SourceLocation::column)
      .def_readonly("end_column", &SourceLocation::end_column);
  module.def("frames_of_location", &frames_of_location, py::arg("number"));
}

const Part kObserve{&define_observing};

}  // namespace

}  // namespace torchport::bindings
