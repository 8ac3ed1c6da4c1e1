#include "releases/cuda.h"

#include <algorithm>

#include "releases/table.h"
#include "versions/version.h"

namespace torchport::releases {

namespace {

int at(const std::vector<int>& numbers, std::size_t index) {
  return index < numbers.size() ? numbers[index] : 0;
}

}  // namespace

bool links_with(std::string_view nvcc, std::string_view cuda) {
  return at(versions::parse_version(nvcc), 0) >= 11 ? versions::same_major(nvcc, cuda)
                                                    : versions::same_minor(nvcc, cuda);
}

std::string cuda_of_driver(std::string_view driver) {
  for (const CudaRelease& release : table().cuda)
    if (!versions::older(driver, release.driver)) return release.version;
  return {};
}

std::string least_driver(std::string_view cuda) {
  std::string least;
  for (const CudaRelease& release : table().cuda)
    if (versions::same_major(release.version, cuda)) least = release.driver;
  return least;
}

std::string toolkit_image(std::string_view cuda) {
  for (const CudaRelease& release : table().cuda)
    if (release.version == cuda && !release.image.empty()) return "nvidia/cuda:" + release.image;
  return {};
}

bool runs_on(const std::vector<std::string>& archs, std::string_view capability) {
  const auto device = versions::parse_version(capability);
  const int wanted = 10 * at(device, 0) + at(device, 1);
  return std::any_of(archs.begin(), archs.end(), [&](const std::string& arch) {
    const auto underscore = arch.find('_');
    if (underscore == std::string::npos) return false;
    // "sm_90a" runs only on 9.0.
    const std::string_view number = std::string_view(arch).substr(underscore + 1);
    const int code = at(versions::parse_version(number), 0);
    if (arch.starts_with("compute_")) return code <= wanted;
    if (number.ends_with('a')) return code == wanted;
    return code / 10 == wanted / 10 && code <= wanted;
  });
}

}  // namespace torchport::releases
