// Finds a stub of libcuda that is loaded instead of the driver's.
#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host::nvidia {

namespace {

std::optional<Diagnosis> stub(const Facts& facts) {
  const auto path = facts.variable("LD_LIBRARY_PATH");
  if (!has_nvidia(facts) || !path || path->find("/stubs") == std::string::npos) return std::nullopt;
  return Diagnosis{
      "stub-library",
      "LD_LIBRARY_PATH contains a folder of stubs: its libcuda.so.1 is only for linking "
      "and finds no device",
      "remove the folder with /stubs from LD_LIBRARY_PATH", kEnvironment};
}

const CauseRegistration kStub(&stub);

}  // namespace

}  // namespace torchport::host::nvidia
