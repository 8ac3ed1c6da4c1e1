#include "plan/sums.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace torchport::plan {

std::string without_numbers(const std::string& module) {
  std::string text;
  for (std::size_t i = 0; i < module.size(); ++i) {
    const bool begins_part = i == 0 || module[i - 1] == '.';
    std::size_t end = i;
    while (end < module.size() && module[end] >= '0' && module[end] <= '9') ++end;
    if (begins_part && end > i && (end == module.size() || module[end] == '.')) {
      text += '*';
      i = end - 1;
    } else {
      text += module[i];
    }
  }
  return text;
}

bool are_alike(const Device& a, const Device& b) {
  return a.allocated == b.allocated && a.reserved == b.reserved && a.least() == b.least() &&
         a.most() == b.most() && a.failures.empty() && b.failures.empty();
}

std::vector<AlikeDevices> alike_devices(const Plan& plan) {
  std::vector<AlikeDevices> groups;
  for (std::size_t i = 0; i < plan.devices.size();) {
    std::size_t end = i + 1;
    while (end < plan.devices.size() && are_alike(plan.devices[i], plan.devices[end])) ++end;
    groups.push_back({&plan.devices[i], end == i + 1
                                            ? plan.devices[i].name
                                            : fmt::format("{} to {}, each", plan.devices[i].name,
                                                          plan.devices[end - 1].name)});
    i = end;
  }
  return groups;
}

std::vector<Sum> sums_by(const std::vector<Row>& rows, SumBy by) {
  std::map<std::string, Sum> by_name;
  for (const Row& row : rows) {
    const std::string name = by == SumBy::kKind   ? row.holds
                             : by == SumBy::kLine ? row.line
                                                  : without_numbers(row.module);
    Sum& sum = by_name[name];
    sum.name = name;
    sum.bytes += row.bytes;
    sum.blocks += row.blocks;
    if (std::find(sum.holds.begin(), sum.holds.end(), row.holds) == sum.holds.end())
      sum.holds.push_back(row.holds);
  }
  std::vector<Sum> sums;
  for (auto& [name, sum] : by_name) sums.push_back(std::move(sum));
  std::stable_sort(sums.begin(), sums.end(),
                   [](const Sum& a, const Sum& b) { return a.bytes > b.bytes; });
  return sums;
}

}  // namespace torchport::plan
