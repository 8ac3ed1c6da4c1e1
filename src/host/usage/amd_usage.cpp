// The files that the kernel driver amdgpu has for each GPU: docs.kernel.org/gpu/amdgpu, "Memory
// Usage Information" and "gpu_busy_percent".
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "host/usage/usage.h"

namespace torchport::host {

namespace {

constexpr std::string_view kFolder = "/sys/class/drm";
constexpr std::string_view kAmd = "0x1002";

std::optional<std::uint64_t> number_in(const base::FileSystem& files, const std::string& path) {
  const auto text = files.read(path);
  if (!text) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && end != text->data() ? std::optional(value) : std::nullopt;
}

class AmdUsage final : public UsageSource {
 public:
  AmdUsage(const base::FileSystem& files, std::string folder)
      : files_(files), folder_(std::move(folder)) {}

  Usage look() override {
    Usage usage;
    if (const auto percent = number_in(files_, folder_ + "gpu_busy_percent"))
      usage.busy = static_cast<double>(*percent) / 100;
    usage.used = number_in(files_, folder_ + "mem_info_vram_used").value_or(0);
    usage.total = number_in(files_, folder_ + "mem_info_vram_total").value_or(0);
    return usage;
  }

 private:
  const base::FileSystem& files_;
  std::string folder_;
};

}  // namespace

std::vector<WatchedDevice> amd_devices(const base::FileSystem& files) {
  std::vector<WatchedDevice> all;
  const auto cards = files.list(std::string(kFolder));
  if (!cards) return all;
  for (const auto& card : *cards) {
    // card0 is a GPU, card0-DP-1 one of its connectors.
    if (!card.name.starts_with("card") || card.name.find('-') != std::string::npos) continue;
    const std::string folder = std::string(kFolder) + "/" + card.name + "/device/";
    const auto vendor = files.read(folder + "vendor");
    if (!vendor || base::trim(*vendor) != kAmd) continue;
    const auto model = files.read(folder + "product_name");
    all.push_back({"cuda:" + std::to_string(all.size()),
                   model ? std::string(base::trim(*model)) : std::string(),
                   std::make_unique<AmdUsage>(files, folder)});
  }
  return all;
}

}  // namespace torchport::host
