// Tests the questions to drivers' libraries, with stand-ins for the libraries in LD_LIBRARY_PATH.
#include "host/probe/driver_libraries.h"

#include <chrono>
#include <cstdlib>
#include <functional>

#include <doctest/doctest.h>

namespace torchport::host {

namespace {

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

DriverAnswer asked_of(const char* kind) {
  setenv("FAKE_DRIVER", kind, 1);
  return ask_rocm_smi();
}

}  // namespace

TEST_CASE("ROCm SMI tells names, memory and places") {
  const DriverAnswer answer = asked_of("well");
  CHECK(answer.state == "ok");
  REQUIRE(answer.gpus.size() == 2);
  CHECK(answer.gpus[0].name == "AMD Instinct MI250X");
  CHECK(answer.gpus[0].bus == "0000:17:00.0");
  CHECK(answer.gpus[1].memory == std::uint64_t{65} << 30U);
}

TEST_CASE("a library that hangs, ends the process, refuses, talks or lies") {
  DriverAnswer answer;
  CHECK(seconds_of([&] { answer = asked_of("hangs"); }) < 4.0);
  CHECK(answer.state == "no answer");
  CHECK(asked_of("ends").state == "no answer");
  CHECK(asked_of("refuses").state == "rsmi_init gave 8");
  CHECK(asked_of("talks").state == "ok");
  answer = asked_of("lies");
  CHECK(answer.gpus.size() == 64);
  CHECK(answer.gpus[0].name.size() == 255);
}

TEST_CASE("Level Zero tells names and kinds") {
  const DriverAnswer answer = ask_level_zero();
  CHECK(answer.state == "ok");
  REQUIRE(answer.gpus.size() == 1);
  CHECK(answer.gpus[0].name == "Intel(R) Arc(TM) B580 Graphics");
  CHECK(answer.gpus[0].id == "8086:e20b");
}

TEST_CASE("what libraries tell joins what the bus told") {
  Gpu first{"amd", "", "0000:17:00.0", "1002:7408", "gfx90a", 0, false, "amdgpu"};
  Gpu second{"intel", "", "0000:03:00.0", "8086:e20b", "", 0, false, "xe"};
  std::vector<Gpu> known{first, second, second};
  merge(known, asked_of("well").gpus);
  merge(known, ask_level_zero().gpus);
  REQUIRE(known.size() == 4);
  CHECK(known[0].name == "AMD Instinct MI250X");
  CHECK(known[0].capability == "gfx90a");
  CHECK(known[1].name == "Intel(R) Arc(TM) B580 Graphics");
  CHECK(known[2].name.empty());
  CHECK(known[3].bus == "0000:18:00.0");
}

}  // namespace torchport::host
