#include "runtime/virtual/planning/convolution_record.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>
#include <torch/library.h>

namespace torchport::vdev {

namespace {

struct Largest {
  std::uint64_t copies = 0;
  std::uint64_t tried = 0;
  int passes = 0;
};

struct ConvolutionRecord {
  std::mutex mutex;
  // By device, and whether it is of gradients.
  std::map<std::pair<c10::DeviceIndex, bool>, Largest> largest;
};

ConvolutionRecord& convolution_record() {
  static auto* one = new ConvolutionRecord();
  return *one;
}

std::string json() {
  const std::scoped_lock lock(convolution_record().mutex);
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [key, one] : convolution_record().largest)
    all.push_back({{"device", key.first},
                   {"gradient", key.second},
                   {"copies", one.copies},
                   {"tried", one.tried},
                   {"passes", one.passes}});
  return all.dump();
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("recorded_convolutions() -> str", &json);
}

}  // namespace

void record_convolution(c10::DeviceIndex device, std::uint64_t copies, std::uint64_t tried,
                        bool is_gradient, int passes) {
  const std::scoped_lock lock(convolution_record().mutex);
  Largest& one = convolution_record().largest[{device, is_gradient}];
  one.copies = std::max(one.copies, copies);
  one.tried = std::max(one.tried, tried);
  one.passes = std::max(one.passes, passes);
}

}  // namespace torchport::vdev
