// Observations and threads for Python, which holds each by its address.
//
// What runs once for each module or thread is a plain function for ctypes and no operator: a call
// through the dispatcher costs microseconds. REQUIRED of Python: it gives an address only while the
// object exists, and frees it once (python/torchport/_native/observing.py).
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <torch/library.h>
#include <torchport/observe.h>

#include "bindings/addresses.h"
#include "bindings/observed_members.h"
#include "bindings/source_locations.h"

namespace torchport::bindings {

template <typename Visit>
void members(SourceLocation& location, const Visit& visit) {
  visit("file", location.file);
  visit("function", location.function);
  visit("line", location.line);
  visit("end_line", location.end_line);
  visit("column", location.column);
  visit("end_column", location.end_column);
  visit("code", location.code);
  visit("instruction", location.instruction);
}

// An observation with the numbering of its places, which is valid while this object lives.
struct PlacedObservation {
  PlacedObservation(std::vector<std::string> passed_over, ObserveOptions options)
      : places(std::move(passed_over)), observation(std::move(options)) {}

  KeptPlaces places;
  Observation observation;
};

namespace {

std::int64_t start_observation(std::vector<std::string> passed_over, bool every_place,
                               bool check_finite, std::int64_t max_calls) {
  ObserveOptions options;
  options.place = &location_here;
  options.every_place = every_place;
  options.check_finite = check_finite;
  options.max_calls = static_cast<std::size_t>(max_calls);
  return address_of(new PlacedObservation(std::move(passed_over), std::move(options)));
}

// What it saw as JSON, and the tensors of the participants of its calls `mixed`, `nan` and
// `infinity`, in this order.
std::tuple<std::string, std::vector<at::Tensor>> finish_observation(std::int64_t observation) {
  Observed observed = at_address<PlacedObservation>(observation).observation.finish();
  std::vector<at::Tensor> tensors;
  const auto keep = [&](const auto& call) {
    if (!call) return;
    for (const Participant& participant : call->participants) tensors.push_back(participant.tensor);
  };
  keep(observed.mixed);
  keep(observed.nan);
  keep(observed.infinity);
  return {as_json(std::move(observed)), std::move(tensors)};
}

std::int64_t number_of_tensor(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor_number(tensor));
}

std::int64_t number_of_storage(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(storage_number(tensor));
}

std::string frames_of_place(std::int64_t place) {
  return as_json(frames_of_location(static_cast<std::uint32_t>(place)));
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def(
      "start_observation(str[] passed_over, bool every_place, bool check_finite, int max_calls)"
      " -> int",
      &start_observation);
  library.def("finish_observation(int observation) -> (str, Tensor[])", &finish_observation);
  library.def("tensor_number(Tensor tensor) -> int", &number_of_tensor);
  library.def("storage_number(Tensor tensor) -> int", &number_of_storage);
  library.def("frames_of_place(int place) -> str", &frames_of_place);
}

// Calls `function`, which may run out of memory. No exception may reach ctypes.
template <typename Function>
bool without_exception(const Function& function) noexcept {
  try {
    return function();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

extern "C" {

TORCHPORT_API bool torchport_observation_watches(const PlacedObservation* placed) noexcept {
  return without_exception([&] { return placed->observation.watches_this_thread(); });
}

TORCHPORT_API bool torchport_observation_enter(PlacedObservation* placed,
                                               std::uint32_t module) noexcept {
  return without_exception([&] { return placed->observation.enter(module); });
}

TORCHPORT_API bool torchport_observation_leave(PlacedObservation* placed) noexcept {
  return without_exception([&] { return placed->observation.leave(); });
}

TORCHPORT_API void torchport_observation_free(PlacedObservation* placed) noexcept {
  delete placed;
}

// Null if there is no memory.
TORCHPORT_API ObservedThread* torchport_observed_thread() noexcept {
  ObservedThread* thread = nullptr;
  without_exception([&] {
    thread = std::make_unique<ObservedThread>(ObservedThread::current()).release();
    return true;
  });
  return thread;
}

TORCHPORT_API void torchport_observed_thread_join(const ObservedThread* thread) noexcept {
  without_exception([&] {
    thread->join();
    return true;
  });
}

TORCHPORT_API void torchport_observed_thread_free(ObservedThread* thread) noexcept {
  delete thread;
}

}  // extern "C"

}  // namespace torchport::bindings
