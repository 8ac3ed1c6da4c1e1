#include "runtime/infer/usage.h"

#include <array>
#include <fstream>

#include <ATen/DeviceAccelerator.h>
#include <torch/version.h>
#include <unistd.h>

#include "runtime/infer/virtual_devices.h"

namespace torchport::infer {

namespace {

// Reads /proc (see proc(5)): the ticks of all cores since the system's start, and the pages of this
// process.
class HostUsage final : public UsageSource {
 public:
  Usage look() override {
    Usage usage;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    usage.total = page * static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    std::uint64_t pages = 0;
    std::uint64_t resident = 0;
    if (std::ifstream("/proc/self/statm") >> pages >> resident) usage.used = resident * page;
    usage.busy = busy();
    return usage;
  }

 private:
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

  std::uint64_t total_ = 0;
  std::uint64_t idle_ = 0;
};

class AcceleratorUsage final : public UsageSource {
 public:
  explicit AcceleratorUsage(c10::DeviceIndex index) : index_(index) {}

  Usage look() override {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 10
    const auto [free, total] = at::accelerator::getMemoryInfo(index_);
    return {std::nullopt, total - free, total};
#else
    const auto stats = at::accelerator::getDeviceStats(index_);
    return {std::nullopt, static_cast<std::uint64_t>(stats.reserved_bytes[0].current), 0};
#endif
  }

 private:
  c10::DeviceIndex index_;
};

}  // namespace

std::unique_ptr<UsageSource> usage_of(c10::Device device) {
  if (device.is_cpu()) return std::make_unique<HostUsage>();
  if (device.is_cuda() && !wants_virtual_devices()) {
    if (auto nvml = nvml_usage(device.index())) return nvml;
  }
  return std::make_unique<AcceleratorUsage>(device.index());
}

}  // namespace torchport::infer
