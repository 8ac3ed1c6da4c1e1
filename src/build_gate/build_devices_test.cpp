// Tests the decisions for a torch that is built for AMD's or Intel's GPUs.
#include <doctest/doctest.h>

#include "base/file_system.h"
#include "build_gate/build_plan.h"
#include "host/probe/probe.h"

namespace torchport::build_gate {

namespace {

BuildInputs for_rocm() {
  BuildInputs inputs;
  inputs.torch = {"/t", "", "2.13.0+rocm7.1", "", "7.1", {}, {"gfx90a"}, true, ""};
  inputs.compilers = {{"rocm", "/opt/rocm", "/opt/rocm", "7.1.25424", {}}};
  return inputs;
}

BuildInputs for_xpu() {
  BuildInputs inputs;
  inputs.torch = {"/t", "", "2.13.0+xpu", "", "", {{"xpu", "20250302"}}, {}, true, ""};
  inputs.compilers = {{"xpu", "/opt/dpcpp", "CMPLR_ROOT", "2025.3.2", {}}};
  return inputs;
}

}  // namespace

TEST_CASE("a torch for ROCm is built against with hipcc of its major version") {
  BuildInputs inputs = for_rocm();
  BuildPlan plan = decide(inputs);
  CHECK(to_text(plan.outcome) == "rocm");
  CHECK(plan.code == "hipcc-matches");
  CHECK(plan.environment.at("ROCM_HOME") == "/opt/rocm");
  CHECK(plan.environment.at("PYTORCH_ROCM_ARCH") == "gfx90a");
  CHECK(plan.environment.at("FORCE_CUDA") == "1");
  inputs.environment["PYTORCH_ROCM_ARCH"] = "gfx942,gfx1100";
  CHECK(decide(inputs).environment.at("PYTORCH_ROCM_ARCH") == "gfx942;gfx1100");
  for (const char* demand : {"rocm", "auto", "ROCM"}) {
    inputs.environment["TORCHPORT_BUILD"] = demand;
    CHECK(to_text(decide(inputs).outcome) == "rocm");
  }
  inputs.environment["TORCHPORT_BUILD"] = "cuda";
  CHECK(to_text(decide(inputs).outcome) == "refuse");
  CHECK(decide(inputs).code == "torch-for-rocm");
  inputs.environment["TORCHPORT_BUILD"] = "cpu";
  CHECK(to_text(decide(inputs).outcome) == "cpu");
  inputs.environment["TORCHPORT_BUILD"] = "xpu";
  CHECK(decide(inputs).reason ==
        "TORCHPORT_BUILD=xpu demands XPU: torch 2.13.0+rocm7.1 is built for ROCm");

  inputs = for_rocm();
  inputs.compilers[0].version = "6.4.43483";
  CHECK(decide(inputs).code == "hipcc-differs");
  inputs.compilers[0].version = "7.2.0";
  CHECK(to_text(decide(inputs).outcome) == "rocm");
  CHECK(decide(inputs).notes.size() == 1);
  inputs.compilers.push_back({"rocm", "/opt/rocm-7.1", "/opt/rocm-7.1", "7.1.1", {}});
  CHECK(decide(inputs).compiler.path == "/opt/rocm-7.1");
  inputs.compilers.resize(1);
  inputs.compilers[0].lacks = {"hipsparse/hipsparse.h"};
  plan = decide(inputs);
  CHECK(to_text(plan.outcome) == "cpu");
  CHECK(plan.code == "headers-missing");
  inputs.environment["FORCE_CUDA"] = "1";
  CHECK(to_text(decide(inputs).outcome) == "refuse");
  inputs.compilers[0].version.clear();
  CHECK(decide(inputs).code == "hipcc-broken");
}

TEST_CASE("a torch for XPU is built against with icpx of its major version") {
  BuildInputs inputs = for_xpu();
  const BuildPlan plan = decide(inputs);
  CHECK(to_text(plan.outcome) == "xpu");
  CHECK(plan.reason ==
        "torch 2.13.0+xpu is built with XPU 2025.3.2, and icpx 2025.3.2 in /opt/dpcpp (CMPLR_ROOT) "
        "compiles for it");
  CHECK(plan.notes.size() == 2);  // icpx is not in PATH, and no architecture is named
  CHECK(plan.environment.at("CMPLR_ROOT") == "/opt/dpcpp");
  inputs.environment["TORCH_XPU_ARCH_LIST"] = "pvc;bmg";
  CHECK(decide(inputs).environment.at("TORCH_XPU_ARCH_LIST") == "pvc,bmg");
  inputs.compilers[0].version = "2024.2.1";
  CHECK(decide(inputs).code == "icpx-differs");
  inputs.compilers[0].kind = "rocm";
  CHECK(decide(inputs).code == "no-icpx");
  inputs.torch = {"/t", "", "2.13.0+cu130", "13.0", "", {}, {"sm_80"}, true, ""};
  inputs.environment["TORCHPORT_BUILD"] = "xpu";
  CHECK(decide(inputs).code == "torch-for-cuda");
}

TEST_CASE("compilers for AMD's and Intel's GPUs are found where torch looks, with their headers") {
  base::MemoryFileSystem files;
  files.add("/opt/rocm/bin/hipcc", "");
  for (const std::string& header : device_headers("rocm"))
    if (header != "hipblas/hipblas.h") files.add("/opt/rocm/include/" + header, "");
  files.add("/oneapi/compiler/latest/bin/icpx", "");
  files.add("/oneapi/compiler/latest/include/sycl/sycl.hpp", "");
  files.add("/t/torch/version.py", "__version__ = '2.13.0+xpu'\nxpu = '20250302'\n");
  files.add("/t/torch/lib/libtorch_python.so", "");
  host::Machine machine;
  machine.files = &files;
  machine.environment = {{"PATH", "/opt/rocm/bin"}, {"ONEAPI_ROOT", "/oneapi"}};
  machine.output = [](const std::vector<std::string>& command) -> std::string {
    return command[0].ends_with("hipcc")
               ? "HIP version: 7.1.25424-4179531dcd\nAMD clang version 20.0.0\n"
               : "Intel(R) oneAPI DPC++/C++ Compiler 2025.3.2 (2025.3.2.20251023)\n";
  };
  const auto inputs = build_inputs(machine, {"", "/t"});
  REQUIRE(inputs.has_value());
  CHECK(inputs->compilers ==
        std::vector<DeviceCompiler>{
            {"rocm", "/opt/rocm", "PATH", "7.1.25424", {"hipblas/hipblas.h"}},
            {"xpu", "/oneapi/compiler/latest", "ONEAPI_ROOT", "2025.3.2", {}}});
  const BuildPlan plan = decide(*inputs);
  CHECK(to_text(plan.outcome) == "xpu");
  CHECK(build_inputs_from_json(to_json(*inputs, plan)).value() == *inputs);
}

}  // namespace torchport::build_gate
