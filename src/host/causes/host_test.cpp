#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <elf.h>

#include "base/file_system.h"
#include "host/causes/cause.h"
#include "host/causes/container.h"
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

namespace {

// A library that needs others, as an ELF file of three sections: none, .dynamic, .dynstr.
std::string library_needing(const std::vector<std::string>& names) {
  std::string strings(1, '\0');
  std::string entries;
  for (const std::string& name : names) {
    Elf64_Dyn entry{};
    entry.d_tag = DT_NEEDED;
    entry.d_un.d_val = strings.size();
    entries.append(reinterpret_cast<const char*>(&entry), sizeof entry);
    strings += name + '\0';
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  std::array<Elf64_Shdr, 3> sections{};
  sections[1].sh_type = SHT_DYNAMIC;
  sections[1].sh_link = 2;
  sections[1].sh_offset = sizeof header;
  sections[1].sh_size = entries.size();
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sizeof header + entries.size();
  sections[2].sh_size = strings.size();
  header.e_shoff = sections[2].sh_offset + strings.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + entries + strings +
         std::string(reinterpret_cast<const char*>(sections.data()), sizeof sections);
}

}  // namespace

TEST_CASE(
    "libraries that torch needs are looked for where it looks, and only known ones are missed") {
  base::MemoryFileSystem files;
  const std::string site = "/v/lib/python3.11/site-packages";
  files.add(site + "/torch/version.py", "__version__ = '2.13.0+cu130'\ncuda = '13.0'\n");
  files.add(site + "/torch/lib/libtorch_python.so", "sm_80");
  files.add(site + "/torch/lib/libtorch_global_deps.so",
            library_needing({"libcublas.so.13", "libcudnn.so.9", "libcusparseLt.so.0",
                             "libgomp.so.1", "libown.so", "libenv.so", "libc.so.6"}));
  files.add(site + "/nvidia/cu13/lib/libcublas.so.13", "");
  files.add(site + "/cusparselt/lib/libcusparseLt.so.0", "");
  files.add(site + "/torch/lib/libown.so", "");
  files.add("/v/lib/libenv.so", "");
  Machine machine = machine_with(files);
  machine.environment = {{"VIRTUAL_ENV", "/v"}};
  // Without the linker's cache nothing is claimed of the system's libraries.
  CHECK(probe(machine).torches.at(0).lacks == std::vector<std::string>{"libcudnn.so.9"});
  files.add("/etc/ld.so.cache", std::string("libm.so.6\0libother.so\0", 22));
  CHECK(probe(machine).torches.at(0).lacks ==
        std::vector<std::string>{"libcudnn.so.9", "libgomp.so.1"});
  files.add("/etc/ld.so.cache", std::string("libgomp.so.1\0/usr/lib/libgomp.so.1\0", 35));
  files.add("/opt/cudnn/libcudnn.so.9", "");
  machine.environment["LD_LIBRARY_PATH"] = "/opt/cudnn";
  CHECK(probe(machine).torches.at(0).lacks.empty());
}

TEST_CASE("Secure Boot, nvidia-modprobe, Debian's own torch") {
  base::MemoryFileSystem files;
  const std::string variable =
      "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
  files.add(variable, std::string("\x06\0\0\0\x01", 5));
  files.add("/usr/lib/python3.13/site.py", "");
  files.add("/usr/lib/python3/dist-packages/torch/version.py", "__version__ = '2.6.0'\n");
  files.add("/usr/lib/python3/dist-packages/torch/lib/libtorch_python.so", "");
  Machine machine = machine_with(files);
  machine.prefixes = {"/usr"};
  Facts facts = probe(machine);
  CHECK(facts.secure_boot);
  CHECK_FALSE(facts.nvidia.makes_nodes);
  CHECK(facts.python == "3.13");
  REQUIRE(facts.torches.size() == 1);
  CHECK(facts.torches[0].python == "3.13");
  files.add(variable, std::string("\x06\0\0\0\0", 5));
  CHECK_FALSE(probe(machine).secure_boot);
}

TEST_CASE("a container's runtime has many spellings") {
  const auto runtime = [](std::string_view name) { return runtime_of(name); };
  CHECK(runtime("Docker") == Runtime::kDocker);
  CHECK(runtime("libpod") == Runtime::kPodman);
  CHECK(runtime("kubepods") == Runtime::kKubernetes);
  CHECK(runtime("lxc-libvirt") == Runtime::kLxc);
  CHECK(runtime("incus") == Runtime::kLxc);
  CHECK(runtime("systemd-nspawn") == Runtime::kNspawn);
  CHECK(runtime("SingularityCE") == Runtime::kApptainer);
  CHECK(runtime("containerd") == Runtime::kNerdctl);
  CHECK(runtime("oci") == Runtime::kOther);
  CHECK(runtime("") == Runtime::kOther);
  base::MemoryFileSystem files;
  files.add("/.singularity.d/runscript", "");
  CHECK(probe(machine_with(files)).container == "apptainer");
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
