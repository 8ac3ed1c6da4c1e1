// Tests the questions to NVML, with a stand-in for the library in LD_LIBRARY_PATH.
#include "host/probe/nvml.h"

#include <doctest/doctest.h>

namespace torchport::host {

TEST_CASE("NVML tells what keeps a card from being used") {
  const NvmlAnswer answer = ask_nvml();
  CHECK(answer.state == "ok");  // a lost card does not keep torch from the others
  CHECK(answer.cuda == "13.0");
  REQUIRE(answer.gpus.size() == 2);
  const Gpu& split = answer.gpus[0];
  CHECK(split.bus == "0000:01:00.0");
  CHECK(split.id == "10de:2330");
  CHECK(split.uuid == "GPU-0");
  CHECK(split.mig);
  CHECK(split.mig_instances == 1);
  CHECK(split.mig_uuids == std::vector<std::string>{"MIG-1"});
  CHECK(split.compute_mode == "default");
  CHECK(split.fabric.empty());
  CHECK(split.fault.empty());
  const Gpu& other = answer.gpus[1];
  CHECK_FALSE(other.mig_instances.has_value());
  CHECK(other.compute_mode == "prohibited");
  CHECK(other.fabric == "in progress");
  CHECK(other.fault == "rows-failed");
}

}  // namespace torchport::host
