// Reads /proc, see proc(5).
#include <array>
#include <fstream>
#include <iterator>

#include <unistd.h>

#include "host/usage/usage.h"

namespace torchport::host {

namespace {

class HostUsage final : public UsageSource {
 public:
  explicit HostUsage(HostMemory memory) : memory_(memory) {}

  Usage look() override {
    Usage usage;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    usage.total = page * static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    usage.used = memory_ == HostMemory::kOfThisProcess ? own_pages() * page
                                                       : usage.total - available(usage.total);
    usage.busy = busy();
    return usage;
  }

 private:
  static std::uint64_t own_pages() {
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident;
  }

  // MemAvailable, or all that there is if the kernel does not tell.
  static std::uint64_t available(std::uint64_t otherwise) {
    std::ifstream file("/proc/meminfo");
    std::string name;
    std::uint64_t kibibytes = 0;
    std::string unit;
    while (file >> name >> kibibytes) {
      std::getline(file, unit);
      if (name == "MemAvailable:") return std::min(kibibytes * 1024, otherwise);
    }
    return otherwise;
  }

  // The ticks of all cores since the system's start.
  std::optional<double> busy() {
    std::ifstream file("/proc/stat");
    std::string cpu;
    if (!(file >> cpu) || cpu != "cpu") return std::nullopt;
    std::array<std::uint64_t, 8> ticks{};  // user nice system idle iowait irq softirq steal
    std::uint64_t total = 0;
    for (std::uint64_t& part : ticks) {
      if (!(file >> part)) return std::nullopt;
      total += part;
    }
    const std::uint64_t idle = ticks[3] + ticks[4];
    const std::uint64_t passed = total - total_;
    const std::uint64_t rested = idle - idle_;
    const bool first = total_ == 0;
    total_ = total;
    idle_ = idle;
    if (first || passed == 0) return std::nullopt;
    return 1.0 - static_cast<double>(rested) / static_cast<double>(passed);
  }

  HostMemory memory_;
  std::uint64_t total_ = 0;
  std::uint64_t idle_ = 0;
};

}  // namespace

std::unique_ptr<UsageSource> host_usage(HostMemory memory) {
  return std::make_unique<HostUsage>(memory);
}

std::vector<WatchedDevice> devices_to_watch() {
  std::vector<WatchedDevice> all = nvml_devices();
  if (all.empty()) all = amd_devices(base::real_file_system());
  all.push_back({"cpu", {}, host_usage(HostMemory::kOfTheMachine)});
  return all;
}

}  // namespace torchport::host
