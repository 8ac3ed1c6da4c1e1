#include "releases/versions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace torchport::host {

namespace {

// CUDA Toolkit Release Notes, table "CUDA Toolkit and Corresponding Driver Versions", Linux.
struct DriverFor {
  std::string_view driver;
  std::string_view cuda;
};
constexpr std::array kDrivers{
    DriverFor{"595.58.03", "13.2"}, DriverFor{"590.44.01", "13.1"}, DriverFor{"580.65.06", "13.0"},
    DriverFor{"575.51.03", "12.9"}, DriverFor{"570.26", "12.8"},    DriverFor{"560.28.03", "12.6"},
    DriverFor{"555.42.02", "12.5"}, DriverFor{"550.54.14", "12.4"}, DriverFor{"545.23.06", "12.3"},
    DriverFor{"535.54.03", "12.2"}, DriverFor{"530.30.02", "12.1"}, DriverFor{"525.60.13", "12.0"},
    DriverFor{"520.61.05", "11.8"}, DriverFor{"450.80.02", "11.0"}};
// The same notes, "CUDA minor version compatibility".
struct LeastDriver {
  int major;
  std::string_view driver;
};
constexpr std::array kLeast{LeastDriver{11, "450.80.02"}, LeastDriver{12, "525.60.13"},
                            LeastDriver{13, "580.65.06"}};

// PYTORCH_RELEASES_CODE_CC of torch/cuda/__init__.py, x86_64; the default is that of the wheel that
// PyPI has.
const std::vector<TorchBuild>& builds() {
  static const std::vector<int> kOld{50, 60, 70, 75, 80, 86, 90};
  static const std::vector<int> kNew{75, 80, 86, 90, 100, 120};
  static const std::vector<TorchBuild> kBuilds{
      {"2.12", "13.0", kNew, true}, {"2.12", "13.2", kNew, false}, {"2.12", "12.6", kOld, false},
      {"2.13", "13.0", kNew, true}, {"2.13", "13.2", kNew, false}, {"2.13", "12.9", kNew, false},
      {"2.13", "12.6", kOld, false}};
  return kBuilds;
}

int at(const std::vector<int>& numbers, std::size_t index) {
  return index < numbers.size() ? numbers[index] : 0;
}

}  // namespace

std::vector<int> parse_version(std::string_view text) {
  std::vector<int> numbers;
  while (!text.empty()) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  return numbers;
}

bool older(std::string_view a, std::string_view b) {
  const auto first = parse_version(a);
  const auto second = parse_version(b);
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i)
    if (at(first, i) != at(second, i)) return at(first, i) < at(second, i);
  return false;
}

bool same_major(std::string_view a, std::string_view b) {
  return at(parse_version(a), 0) == at(parse_version(b), 0);
}

bool same_minor(std::string_view a, std::string_view b) {
  return same_major(a, b) && at(parse_version(a), 1) == at(parse_version(b), 1);
}

bool links_with(std::string_view nvcc, std::string_view cuda) {
  return at(parse_version(nvcc), 0) >= 11 ? same_major(nvcc, cuda) : same_minor(nvcc, cuda);
}

std::string cuda_of_driver(std::string_view driver) {
  for (const auto& [least, cuda] : kDrivers)
    if (!older(driver, least)) return std::string(cuda);
  return {};
}

std::string least_driver(std::string_view cuda) {
  const int major = at(parse_version(cuda), 0);
  for (const auto& [known, driver] : kLeast)
    if (known == major) return std::string(driver);
  return {};
}

std::vector<TorchBuild> builds_of(std::string_view torch) {
  std::vector<TorchBuild> found;
  for (const TorchBuild& build : builds())
    if (same_minor(build.torch, torch)) found.push_back(build);
  return found;
}

std::string without_build(std::string_view torch) {
  return std::string(torch.substr(0, torch.find('+')));
}

std::string newest_torch() {
  return "2.13.0";
}

bool runs_on(const std::vector<std::string>& archs, std::string_view capability) {
  const auto device = parse_version(capability);
  const int wanted = 10 * at(device, 0) + at(device, 1);
  return std::any_of(archs.begin(), archs.end(), [&](const std::string& arch) {
    const auto underscore = arch.find('_');
    if (underscore == std::string::npos) return false;
    // "sm_90a" is for 9.0 alone, features and all.
    const std::string_view number = std::string_view(arch).substr(underscore + 1);
    const int code = at(parse_version(number), 0);
    if (arch.starts_with("compute_")) return code <= wanted;
    if (number.ends_with('a')) return code == wanted;
    return code / 10 == wanted / 10 && code <= wanted;
  });
}

}  // namespace torchport::host
