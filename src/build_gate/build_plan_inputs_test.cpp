// Tests what the build gate reads of a machine.
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/file_system.h"
#include "build_gate/build_plan.h"
#include "host/probe/probe.h"

namespace torchport::build_gate {

TEST_CASE("inputs are read from a machine's files, and from what was written of them") {
  base::MemoryFileSystem files;
  const std::string site = "/v/lib/python3.11/site-packages";
  files.add(site + "/torch/version.py", "__version__ = '2.6.0+cu126'\ncuda = '12.6'\n");
  files.add(site + "/torch/lib/libtorch_python.so", "sm_50 sm_90");
  files.add(site + "/torch/share/cmake/Torch/TorchConfig.cmake",
            "set(TORCH_CXX_FLAGS \"-D_GLIBCXX_USE_CXX11_ABI=1\")\n");
  files.add(site + "/nvidia/cublas/include/cublas_v2.h", "");
  files.add(site + "/nvidia/cublas/include/cublasLt.h", "");
  files.add(site + "/nvidia/cuda_nvcc/bin/nvcc", "");
  files.add("/opt/cuda/bin/nvcc", "");
  files.add("/opt/cuda/include/cuda_runtime.h", "");
  for (const char* header : {"cuda_runtime_api.h", "cusparse.h", "cusolverDn.h", "cuda_fp16.h",
                             "cuda_bf16.h", "cccl/thrust/complex.h", "cufft.h", "nvrtc.h"})
    files.add(std::string("/opt/cuda/include/") + header, "");
  files.add("/opt/cuda/lib/libcudart.so.12", "");
  files.add("/opt/cuda/include/crt/host_config.h",
            "#if __GNUC__ > 13\n#if (__clang_major__ >= 18)");
  files.add("/bin/g++-13", "");
  host::Machine machine;
  machine.files = &files;
  machine.environment = {{"VIRTUAL_ENV", "/v"},
                         {"CUDA_HOME", "/opt/cuda"},
                         {"PATH", "/bin"},
                         {"CC", "ccache g++-13"},
                         {"CUDA_VISIBLE_DEVICES", ""}};
  machine.output = [](const std::vector<std::string>& command) -> std::string {
    if (command[0] == "/bin/g++-13") return "g++-13 (conda-forge gcc 13.3.0-1) 13.3.0\nCopyright\n";
    if (command[1] == "--list-gpu-code") return "sm_50\nsm_90\n";
    return "release 12.6, V12.6.77\n";
  };
  const auto inputs = build_inputs(machine, {});
  REQUIRE(inputs.has_value());
  CHECK(inputs->torch.cuda == "12.6");
  CHECK(inputs->torch.cxx11_abi);
  REQUIRE(inputs->toolkits.size() == 2);
  CHECK(inputs->toolkits[0] ==
        BuildToolkit{"/opt/cuda",
                     "CUDA_HOME",
                     "12.6",
                     true,
                     {"sm_50", "sm_90"},
                     13,
                     17,
                     {"cublas_v2.h", "cublasLt.h", "cub/cub.cuh", "curand_kernel.h"},
                     "",
                     "",
                     "/opt/cuda/lib/libcudart.so.12"});
  CHECK(inputs->toolkits[1].from == "nvidia packages");
  CHECK(inputs->compiler == HostCompiler{"/bin/g++-13", "gcc", "13.3.0"});
  CHECK(inputs->headers == std::vector<std::string>{site + "/nvidia/cublas/include"});
  // It says nothing about the GPUs that this machine shows or hides.
  CHECK(inputs->environment.size() == 1);
  const BuildPlan plan = decide(*inputs);
  CHECK(to_text(plan.archs) == "5.0;9.0+PTX");
  CHECK(plan.environment.at("CPATH") == site + "/nvidia/cublas/include");
  REQUIRE(plan.notes.size() == 2);
  CHECK(
      plan.notes[0] ==
      "cub/cub.cuh, curand_kernel.h were not found: sources that include them do not compile here");
  CHECK(plan.notes[1].ends_with("ln -s /opt/cuda/lib/libcudart.so.12 /opt/cuda/lib/libcudart.so"));
  const auto again = build_inputs_from_json(to_json(*inputs, plan));
  REQUIRE(again.has_value());
  CHECK(*again == *inputs);
  for (const char* path : {"/absent", "/v/lib", ""}) {
    const auto none = build_inputs(machine, {"", path});
    CHECK(none.has_value() == std::string(path).empty());
  }
  CHECK_FALSE(build_inputs(machine, {"/opt/cuda/bin/nvcc", ""}).has_value());
  CHECK(build_inputs(machine, {"/v/bin/python", site}).value().torch.cuda == "12.6");
}

TEST_CASE("folders where torch does not look are named for the compiler and the linker") {
  base::MemoryFileSystem files;
  const std::string site = "/v/lib/python3.11/site-packages";
  files.add("/t/torch/version.py", "__version__ = '2.13.0+cu130'\ncuda = '13.0'\n");
  files.add("/t/torch/lib/libtorch_python.so", "sm_80 sm_90");
  files.add("/v/bin/nvcc", "");
  const std::string target = "/v/targets/x86_64-linux";
  for (const std::string& header : cuda_headers())
    files.add(fmt::format("{}/include/{}", target, header), "");
  files.add(target + "/include/cuda_runtime.h", "");
  files.add(target + "/lib/libcudart.so", "");
  files.add(site + "/nvidia/cu13/include/cccl/cub/cub.cuh", "");
  host::Machine machine;
  machine.files = &files;
  machine.environment = {{"CONDA_PREFIX", "/v"}, {"PATH", "/v/bin"}, {"LIBRARY_PATH", "/mine"}};
  machine.output = [](const std::vector<std::string>&) -> std::string {
    return "release 13.0, V13.0.88\n";
  };
  const BuildPlan plan = decide(build_inputs(machine, {"", "/t"}).value());
  CHECK(to_text(plan.outcome) == "cuda");
  CHECK(plan.environment.at("CPATH") ==
        fmt::format("{}/include:{}/nvidia/cu13/include/cccl", target, site));
  CHECK(plan.environment.at("LIBRARY_PATH") == target + "/lib:/mine");
}

}  // namespace torchport::build_gate
