// Finds variables that hide Intel's GPUs from SYCL.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "devices/visibility.h"
#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host::intel {

namespace {

// Whether a term of ONEAPI_DEVICE_SELECTOR ("level_zero:gpu", "*:*", "opencl:cpu") means GPUs by
// way of Level Zero, which is the only way of torch (sycl, "Environment variables").
bool means_gpus(std::string_view term) {
  const auto colon = term.find(':');
  const std::string_view backend = base::trim(term.substr(0, colon));
  if (backend != "level_zero" && backend != "*") return false;
  if (colon == std::string_view::npos) return true;
  const auto devices = base::split(term.substr(colon + 1), ',');
  return std::any_of(devices.begin(), devices.end(), [](std::string_view device) {
    device = base::trim(device);
    return device.starts_with('*') || device.starts_with("gpu") ||
           (!device.empty() && device.front() >= '0' && device.front() <= '9');
  });
}

bool selector_hides(const std::string& selector) {
  const std::string text = base::lower(selector);
  bool any_accepted = false;
  bool accepted = false;
  bool discarded = false;
  for (const std::string_view part : base::split(text, ';')) {
    const std::string_view term = base::trim(part);
    if (term.empty()) continue;
    if (term.starts_with('!')) {
      discarded = discarded || means_gpus(term.substr(1));
      continue;
    }
    any_accepted = true;
    accepted = accepted || means_gpus(term);
  }
  return discarded || (any_accepted && !accepted);
}

std::optional<Diagnosis> hidden(const Facts& facts) {
  if (facts.of("intel").empty() || !is_built_for_xpu(facts.torch())) return std::nullopt;
  const auto selector = facts.variable("ONEAPI_DEVICE_SELECTOR");
  if (selector && selector_hides(*selector))
    return Diagnosis{
        "hidden",
        fmt::format("ONEAPI_DEVICE_SELECTOR=\"{}\" hides every GPU of Level Zero", *selector),
        "unset ONEAPI_DEVICE_SELECTOR, or set it to level_zero:gpu", kEnvironment};
  const auto mask = facts.variable("ZE_AFFINITY_MASK");
  const int count = static_cast<int>(facts.of("intel").size());
  if (mask && !mask->empty() && devices::named_devices(*mask, count).empty())
    return Diagnosis{"hidden",
                     fmt::format("ZE_AFFINITY_MASK=\"{}\" names no GPU that exists: there {} {}",
                                 *mask, count == 1 ? "is" : "are", count),
                     "unset ZE_AFFINITY_MASK, or number the GPUs from 0", kEnvironment};
  return std::nullopt;
}

const CauseRegistration kHidden(&hidden);

}  // namespace

}  // namespace torchport::host::intel
