#include <doctest/doctest.h>

#include "base/file_system.h"
#include "host/causes/cause.h"
#include "host/causes/install.h"
#include "host/facts/snapshot.h"
#include "host/probe/probe.h"

namespace torchport::host {

namespace {

// A machine in memory that runs no program and loads no library.
Machine machine_with(const base::MemoryFileSystem& files) {
  Machine machine;
  machine.files = &files;
  machine.node = [](const std::string& path) { return DeviceNode{path, true, "root"}; };
  machine.output = [](const std::vector<std::string>&) { return std::string(); };
  machine.load_libraries = false;
  return machine;
}

void add_card(base::MemoryFileSystem& files, const std::string& bus, const std::string& kind,
              const std::string& vendor, const std::string& device) {
  const std::string folder = "/sys/bus/pci/devices/" + bus;
  files.add(folder + "/class", "0x" + kind + "\n");
  files.add(folder + "/vendor", "0x" + vendor + "\n");
  files.add(folder + "/device", "0x" + device + "\n");
}

}  // namespace

TEST_CASE("cards of the bus, their drivers, and what is none") {
  base::MemoryFileSystem files;
  add_card(files, "0000:17:00.0", "030200", "10de", "20b2");
  add_card(files, "0000:03:00.0", "030000", "1a03", "2000");  // a server's management controller
  add_card(files, "0000:00:1f.3", "040300", "8086", "a348");  // sound
  files.add("/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"
            "GCC version:  gcc version 12.2.0\n");
  files.add("/proc/driver/nvidia/gpus/0000:17:00.0/information",
            "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ: 16\n");
  files.add("/proc/modules", "nvidia 1 2 - Live\nnvidia_uvm 1 0\nxe 1 0\n");
  files.add("/dev/nvidia0", "");
  files.add("/dev/null", "");
  const Facts facts = probe(machine_with(files));
  REQUIRE(facts.gpus.size() == 1);
  CHECK(facts.gpus[0].vendor == "nvidia");
  CHECK(facts.gpus[0].id == "10de:20b2");
  CHECK(facts.gpus[0].name == "NVIDIA A100-SXM4-80GB");
  CHECK(facts.nvidia.module == "580.65.06");
  CHECK(facts.nvidia.cuda == "13.0");
  CHECK(facts.modules == std::vector<std::string>{"nvidia", "xe"});
  REQUIRE(facts.nodes.size() == 1);
  CHECK(facts.nodes[0].path == "/dev/nvidia0");
}

TEST_CASE("AMD's generations, WSL, containers and limits") {
  base::MemoryFileSystem files;
  add_card(files, "0000:c1:00.0", "030000", "1002", "7408");
  files.add("/sys/class/kfd/kfd/topology/nodes/0/properties",
            "cpu_cores_count 64\ngfx_target_version 0\n");
  files.add("/sys/class/kfd/kfd/topology/nodes/1/properties", "gfx_target_version 90010\n");
  files.add("/proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2\n");
  files.add("/sys/fs/cgroup/memory.max", "2147483648\n");
  files.add("/.dockerenv", "");
  files.add("/opt/rocm/.info/version", "7.1.0\n");
  const Facts facts = probe(machine_with(files));
  REQUIRE(facts.gpus.size() == 1);
  CHECK(facts.gpus[0].capability == "gfx90a");
  CHECK(facts.wsl);
  CHECK(facts.container == "docker");
  CHECK(facts.memory_limit == 2147483648U);
  CHECK(facts.rocm == "7.1.0");
}

TEST_CASE("garbage in /proc and /sys is none of ours") {
  for (const std::string& garbage :
       {std::string(), std::string("\0\xff\xfe", 3), std::string(100000, '9'),
        std::string("0x\n0x"), std::string("max"), std::string("99999999999999999999")}) {
    base::MemoryFileSystem files;
    for (const char* path :
         {"/proc/driver/nvidia/version", "/proc/modules", "/proc/version", "/etc/os-release",
          "/sys/fs/cgroup/memory.max", "/sys/bus/pci/devices/a/class", "/opt/rocm/.info/version",
          "/sys/bus/pci/devices/b/vendor", "/sys/class/kfd/kfd/topology/nodes/1/properties",
          "/usr/local/cuda/version.json", "/v/lib/python3.11/site-packages/torch/version.py"})
      files.add(path, garbage);
    files.add("/v/lib/python3.11/site-packages/torch/lib/libtorch_python.so", garbage);
    Machine machine = machine_with(files);
    machine.environment = {{"VIRTUAL_ENV", "/v"}, {"PATH", garbage}, {"LD_LIBRARY_PATH", ":::"}};
    const Facts facts = probe(machine);
    const Verdict verdict = judge(facts);
    CHECK_FALSE(verdict.summary.empty());
    // Its facts can be read back.
    const auto again = from_json(to_json(facts));
    REQUIRE(again.has_value());
  }
}

TEST_CASE("a toolkit is told by its own words") {
  base::MemoryFileSystem files;
  files.add("/opt/cuda/bin/nvcc", "");
  files.add("/usr/local/cuda-12.6/version.json", R"({"cuda": {"version": "12.6.77"}})");
  files.add("/usr/local/cuda-broken/version.json", R"({"cuda": 3})");
  Machine machine = machine_with(files);
  machine.environment = {{"CUDA_HOME", "/opt/cuda"}};
  machine.output = [](const std::vector<std::string>& command) {
    return command.front() == "/opt/cuda/bin/nvcc"
               ? std::string("Cuda compilation tools, release 13.0, V13.0.88\n")
               : std::string();
  };
  const Facts facts = probe(machine);
  REQUIRE(facts.toolkits.size() == 2);
  CHECK(facts.toolkits[0].nvcc == "13.0");
  CHECK(facts.toolkits[0].from == "CUDA_HOME");
  CHECK(facts.toolkits[1].version == "12.6.77");
}

TEST_CASE("each torch has its own oldest macOS") {
  Facts facts;
  facts.system = "Darwin";
  facts.machine = "arm64";
  facts.os_version = "13.6";
  facts.gpus.emplace_back();
  facts.gpus[0].vendor = "apple";
  const auto diagnoses = [&](const char* torch) {
    facts.torches.resize(1);
    facts.torches[0].version = torch;
    return judge(facts).diagnoses;
  };
  REQUIRE(diagnoses("2.9.1").size() == 1);
  CHECK(diagnoses("2.9.1")[0].what == "macOS 13.6 is too old for the MPS of torch 2.9.1");
  CHECK(diagnoses("2.9.1")[0].remedy == "update to macOS 14 or newer");
  CHECK(diagnoses("2.8.0").empty());
  CHECK(diagnoses("2.5.1").empty());  // unknown
  facts.os_version = "12.7";
  REQUIRE(diagnoses("2.8.0").size() == 1);
  CHECK(diagnoses("2.8.0")[0].remedy == "update to macOS 13 or newer");

  facts.os_version = "13.6";
  facts.torches.clear();
  REQUIRE_FALSE(judge(facts).install.empty());
  CHECK(judge(facts).install.front() == "pip install torch==2.8.0");
}

TEST_CASE("causes of two vendors have one order, however they are linked") {
  Facts facts;
  facts.system = "Linux";
  facts.machine = "x86_64";
  facts.gpus = {{"nvidia", "card", "0000:01:00.0", "10de:1", "8.0", 0, false, ""},
                {"amd", "card", "0000:02:00.0", "1002:1", "gfx90a", 0, false, ""}};
  facts.torches = {{"/t", "3.11", "2.13.0", "", "7.2", {}, {"gfx90a"}, true, ""}};
  std::vector<std::string> found;
  for (const Diagnosis& diagnosis : judge(facts).diagnoses)
    found.push_back(diagnosis.code + ": " + diagnosis.what);
  CHECK(found == std::vector<std::string>{"no-driver: NVIDIA's driver is not installed",
                                          "no-driver: the kernel module amdgpu is not loaded"});
}

TEST_CASE("every sum of driver, card and build has a verdict, and the same one twice") {
  for (const char* driver : {"", "440.33", "470.256", "535.183", "580.65.06", "595.71"}) {
    for (const char* capability : {"", "3.5", "6.1", "8.0", "9.0", "12.0", "14.0"}) {
      for (const char* cuda : {"", "11.8", "12.6", "13.0"}) {
        Facts facts;
        facts.system = "Linux";
        facts.machine = "x86_64";
        facts.nvidia.module = facts.nvidia.library = driver;
        facts.gpus = {{"nvidia", "card", "0000:01:00.0", "10de:1", capability, 0, false, "nvidia"}};
        facts.nodes = {{"/dev/nvidia0", true, "root"}};
        facts.torches = {{"/t", "3.11", "2.13.0", cuda, "", {}, {"sm_80", "sm_90"}, true, ""}};
        const Verdict verdict = judge(facts);
        CHECK((verdict.state == "uses" || verdict.state == "cannot"));
        CHECK((verdict.state == "cannot") ==
              (!verdict.diagnoses.empty() && verdict.diagnoses[0].blocks));
        CHECK(judge(facts).summary == verdict.summary);
        // An install command is never a guess.
        if (std::string_view(driver).empty() || std::string_view(capability).empty())
          CHECK(verdict.install.empty());
      }
    }
  }
}

}  // namespace torchport::host
