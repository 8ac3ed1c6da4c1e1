#include <c10/util/TypeCast.h>
#include <torch/library.h>
#include <torchport/device.h>

#include "bindings/as_json.h"

namespace torchport {

template <typename Visit>
void members(DeviceChoice& choice, const Visit& visit) {
  visit("device", choice.device);
  visit("source", choice.source);
  visit("reason", choice.reason);
  visit("refused", choice.refused);
}

template <typename Visit>
void members(RunProfile& profile, const Visit& visit) {
  visit("name", profile.name);
  visit("file", profile.file);
  visit("device", profile.device);
  visit("dtype", profile.dtype);
  visit("batch_size", profile.batch_size);
  visit("workers", profile.workers);
}

namespace bindings {

namespace {

std::string choose(const std::string& wanted, std::optional<std::int64_t> local_rank) {
  DeviceRequest request;
  request.wanted = wanted;
  if (local_rank) request.local_rank = c10::checked_convert<int>(*local_rank, "int");
  return as_json(choose_device(request));
}

// "null" if there is no profile.
std::string read_run_profile(const std::string& name, const std::string& folder) {
  return as_json(run_profile(name, folder));
}

std::int64_t free_memory_of(c10::Device device) {
  return static_cast<std::int64_t>(free_memory(device));
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("choose_device(str wanted, int? local_rank) -> str", &choose);
  library.def("run_profile(str name, str folder) -> str", &read_run_profile);
  library.def("free_memory(Device device) -> int", &free_memory_of);
}

}  // namespace

}  // namespace bindings

}  // namespace torchport
