// Tests that doctor, container, ci and build-plan answer with a release that was only added to the
// table.
#include <algorithm>

#include <doctest/doctest.h>

#include "base/file_system.h"
#include "build_gate/build_plan.h"
#include "host/causes/cause.h"
#include "host/facts/facts.h"
#include "releases/gpu_arch.h"
#include "releases/table.h"
#include "scaffold/project.h"
#include "scaffold/target.h"

namespace torchport {

namespace {

host::Facts machine(const char* vendor, const char* capability) {
  host::Facts facts;
  facts.system = "Linux";
  facts.machine = "x86_64";
  facts.gpus.emplace_back();
  facts.gpus[0].vendor = vendor;
  facts.gpus[0].capability = capability;
  return facts;
}

scaffold::Target target(const char* device, bool virtual_devices = false) {
  base::MemoryFileSystem files;
  files.add("p/setup.py",
            "from setuptools import setup\n"
            "from torch.utils.cpp_extension import CUDAExtension\n"
            "setup(name='p', ext_modules=[CUDAExtension('p', ['p.cu'])])\n");
  const auto project = scaffold::read_project(files, "p", {});
  REQUIRE(project.has_value());
  scaffold::TargetOptions options;
  options.device = device;
  options.virtual_devices = virtual_devices;
  const auto chosen = scaffold::choose_target(*project, options);
  REQUIRE_MESSAGE(chosen.has_value(), chosen.error().message);
  return *chosen;
}

}  // namespace

TEST_CASE("doctor recommends the new release, and the one before it to an older driver") {
  REQUIRE(releases::newest_torch() == "2.99.0");
  host::Facts facts = machine("nvidia", "9.0");
  facts.nvidia = {"700.10", "700.10", "ok", ""};
  CHECK(host::judge(facts).install.front() == "pip install torch==2.99.0");
  facts.nvidia = {"580.65.06", "580.65.06", "ok", ""};
  const std::string older = host::judge(facts).install.front();
  CHECK(older == "pip install torch==" + releases::table().releases[1].version);

  const host::Facts amd = machine("amd", "gfx90a");
  CHECK(host::judge(amd).install.front() ==
        "pip install torch==2.99.0+rocm9.9 --index-url https://download.pytorch.org/whl/rocm9.9");
}

TEST_CASE("doctor names the driver that the new CUDA needs") {
  host::Facts facts = machine("nvidia", "9.0");
  facts.nvidia = {"580.65.06", "580.65.06", "ok", "13.0"};
  facts.torches = {{"/t", "3.12", "2.99.0+cu140", "14.0", "", {}, {"sm_90"}, true, ""}};
  const auto verdict = host::judge(facts);
  const auto too_old = std::find_if(
      verdict.diagnoses.begin(), verdict.diagnoses.end(),
      [](const host::Diagnosis& diagnosis) { return diagnosis.code == "driver-too-old"; });
  REQUIRE(too_old != verdict.diagnoses.end());
  CHECK(too_old->remedy.find("700.10") != std::string::npos);
}

TEST_CASE("doctor names the macOS that the new release needs") {
  host::Facts facts = machine("apple", "");
  facts.system = "Darwin";
  facts.machine = "arm64";
  facts.os_version = "19.1";
  facts.torches = {{"/t", "3.12", "2.99.0", "", "", {}, {}, true, ""}};
  const auto verdict = host::judge(facts);
  REQUIRE(verdict.diagnoses.size() == 1);
  CHECK(verdict.diagnoses.front().remedy == "update to macOS 20 or newer");
}

TEST_CASE("container takes its build, its toolkit, its GPUs and its driver") {
  const auto cuda = target("cuda");
  CHECK(cuda.torch == "2.99.0");
  CHECK(cuda.variant == "cu140");
  CHECK(cuda.python == "3.12");
  CHECK(cuda.arch_list == "7.5;9.0;13.0+PTX");
  CHECK(cuda.images.toolkit == "nvidia/cuda:14.0.0-devel-ubuntu24.04");
  CHECK(cuda.notes.back() == "hosts need NVIDIA's driver 700.10 or newer");
  CHECK(target("xpu").torch == "2.99.0");
}

TEST_CASE("container compiles for its ROCm in the image that the table names") {
  const auto rocm = target("rocm");
  CHECK(rocm.torch == "2.99.0");
  CHECK(rocm.variant == "rocm9.9");
  CHECK(rocm.python == "3.13");
  CHECK(rocm.arch_list == "gfx90a");
  CHECK(rocm.images.build == "rocm/dev-ubuntu-26.04:9.9-complete");
  CHECK(rocm.images.runtime == "ubuntu:26.04");
  CHECK(rocm.images.build_packages ==
        std::vector<std::string>{"g++", "python3.13-dev", "python3.13-venv"});
  CHECK(rocm.images.runtime_packages == std::vector<std::string>{"python3.13"});
}

TEST_CASE("only the new CUDA compiles for its new architecture") {
  CHECK(releases::releases_for(130) == "from CUDA 14.0 on");
  CHECK(releases::NvccArchs("14.0", {}).makes({130, {}, false}));
  CHECK_FALSE(releases::NvccArchs("13.2", {}).makes({130, {}, false}));
}

TEST_CASE("ci takes it for the virtual devices") {
  CHECK(target("cpu", true).torch == "2.99.0");
  CHECK(releases::runtime_versions().back() == "2.99.0");
  REQUIRE(releases::runtime_of("2.99.0+cu140") != nullptr);
  CHECK(releases::runtime_of("2.99.0+cu140")->built_for == "2.99.0");
  CHECK(releases::runtime_of("2.99.1") == nullptr);
}

TEST_CASE("build-plan names its build for CUDA") {
  build_gate::BuildInputs inputs;
  inputs.torch = {"/t", "3.12", "2.99.0+cpu", "", "", {}, {}, true, ""};
  inputs.environment = {{"TORCHPORT_BUILD", "cuda"}};
  const auto plan = build_gate::decide(inputs);
  CHECK(plan.code == "torch-for-cpu");
  CHECK(
      plan.remedy.find("torch==2.99.0+cu140 --index-url https://download.pytorch.org/whl/cu140") !=
      std::string::npos);
}

}  // namespace torchport
