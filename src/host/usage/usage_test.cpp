// Reads the figures of devices and processes: from a stand-in for NVML, and from files of /sys and
// /proc that were made up.
#include "host/usage/usage.h"

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "host/usage/process_usage.h"
#include "host/usage/usage_line.h"

namespace torchport::host {

namespace {

// A line of /proc/N/stat: the name, the parent, ticks in user and kernel mode, resident pages.
std::string stat_line(int process, const std::string& name, int parent, int user, int system,
                      int pages, char state = 'S') {
  std::string line = std::to_string(process) + " (" + name + ") " + state + " " +
                     std::to_string(parent) + " 1 1 0 -1 4194304 10 0 0 0 " + std::to_string(user) +
                     " " + std::to_string(system) + " 0 0 20 0 1 0 100 1000000 " +
                     std::to_string(pages);
  return line + " 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n";
}

}  // namespace

TEST_CASE("NVML tells the load, the memory and the processes of each GPU") {
  const auto gpus = nvml_devices();
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[1].name == "cuda:1");
  CHECK(gpus[1].model == "Other GPU");
  const Usage usage = gpus[1].source->look();
  REQUIRE(usage.busy.has_value());
  CHECK(*usage.busy == doctest::Approx(0.75));
  CHECK(usage.used == 3ULL << 30U);
  CHECK(usage.total == 16ULL << 30U);
  CHECK(usage.processes == std::map<pid_t, std::uint64_t>{{4321, 2ULL << 30U}, {4322, 0}});
  CHECK(gpus[0].source->look().processes.empty());
  CHECK(usage_line("cuda:1", usage) ==
        "cuda:1   busy  75 % [###############.....]  memory 3.00 GiB of 16.00 GiB");
}

TEST_CASE("a number of CUDA is translated to one of NVML") {
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  REQUIRE(nvml_usage(0) != nullptr);
  CHECK(nvml_usage(0)->look().used == 3ULL << 30U);
  CHECK(nvml_usage(1) == nullptr);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_CASE("the files of amdgpu tell about AMD's GPUs, and connectors and other GPUs are none") {
  base::MemoryFileSystem files;
  files.add("/sys/class/drm/card0/device/vendor", "0x8086\n");
  files.add("/sys/class/drm/card1/device/vendor", "0x1002\n");
  files.add("/sys/class/drm/card1/device/product_name", "AMD Instinct MI300X\n");
  files.add("/sys/class/drm/card1/device/gpu_busy_percent", "40\n");
  files.add("/sys/class/drm/card1/device/mem_info_vram_used", "1073741824\n");
  files.add("/sys/class/drm/card1/device/mem_info_vram_total", "4294967296\n");
  files.add("/sys/class/drm/card1-DP-1/device/vendor", "0x1002\n");
  files.add("/sys/class/drm/card2/device/vendor", "0x1002\n");
  files.add("/sys/class/drm/card2/device/gpu_busy_percent", "busy\n");
  const auto gpus = amd_devices(files);
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].name == "cuda:0");
  CHECK(gpus[0].model == "AMD Instinct MI300X");
  const Usage usage = gpus[0].source->look();
  CHECK(usage.busy.value_or(-1) == doctest::Approx(0.4));
  CHECK(usage.used == 1ULL << 30U);
  CHECK(usage.total == 4ULL << 30U);
  CHECK_FALSE(gpus[1].source->look().busy.has_value());
}

TEST_CASE("a process counts with its children, also after their parent has ended") {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto ticks = static_cast<int>(sysconf(_SC_CLK_TCK));
  base::MemoryFileSystem files;
  files.add("/proc/10/stat", stat_line(10, "a (b) c", 1, 5, 5, 100));
  files.add("/proc/11/stat", stat_line(11, "child", 10, 0, 0, 50));
  files.add("/proc/12/stat", stat_line(12, "grandchild", 11, 0, 0, 1));
  files.add("/proc/13/stat", stat_line(13, "other", 1, 900, 900, 1000));
  files.add("/proc/self/stat", "no number");
  ProcessTree tree(files, 10);
  CHECK(tree.name() == "a (b) c");
  ProcessUsage usage = tree.look(0);
  CHECK(usage.processes == std::set<pid_t>{10, 11, 12});
  CHECK(usage.resident == 151 * page);
  CHECK(usage.cores == doctest::Approx(0));

  files.add("/proc/10/stat", stat_line(10, "a (b) c", 1, 5 + ticks, 5, 100));
  files.add("/proc/11/stat", stat_line(11, "child", 10, 0, 0, 0, 'Z'));
  files.add("/proc/12/stat", stat_line(12, "grandchild", 1, ticks, ticks, 1));
  usage = tree.look(2);
  CHECK(usage.processes == std::set<pid_t>{10, 12});
  CHECK(usage.cores == doctest::Approx(1.5));
  CHECK(ProcessTree(files, 99).name().empty());
}

TEST_CASE("the CPU of this machine has a load after two looks, and memory") {
  const auto cpu = host_usage(HostMemory::kOfTheMachine);
  CHECK_FALSE(cpu->look().busy.has_value());
  const Usage usage = cpu->look();
  CHECK(usage.used > 0);
  CHECK(usage.used < usage.total);
  CHECK(host_usage(HostMemory::kOfThisProcess)->look().used < usage.total);
}

}  // namespace torchport::host
