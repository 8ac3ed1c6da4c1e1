#include "source/report/portability.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/file_system.h"
#include "devices/device_kind.h"
#include "source/rules/registry.h"

namespace torchport::report {

namespace {

// The device kind for which the programs that torchport reads were written.
constexpr std::string_view kAtHome = "cuda";

std::vector<Group> sorted(std::map<std::string, Group> groups) {
  std::vector<Group> result;
  for (auto& [name, group] : groups) {
    group.name = name;
    result.push_back(std::move(group));
  }
  std::stable_sort(result.begin(), result.end(), [](const Group& a, const Group& b) {
    return a.errors + a.warnings > b.errors + b.warnings;
  });
  return result;
}

template <class Key>
std::vector<Group> grouped(const project::CheckReport& report, Key key) {
  std::map<std::string, Group> groups;
  for (const auto& d : report.diagnostics) {
    Group& group = groups[key(d)];
    (d.severity == rules::Severity::kError ? group.errors : group.warnings) += 1;
  }
  return sorted(std::move(groups));
}

}  // namespace

int portability_score(const project::CheckReport& report) {
  if (report.relevant == 0) return 100;
  std::map<std::string_view, bool> has_error;
  for (const auto& d : report.diagnostics)
    has_error[d.path] |= d.severity == rules::Severity::kError;
  double lost = 0;
  for (const auto& [path, error] : has_error) lost += error ? 1.0 : 0.5;
  const double share = 1.0 - lost / static_cast<double>(report.relevant);
  return static_cast<int>(std::lround(std::max(0.0, share) * 100.0));
}

std::vector<DeviceBlocks> blocked_devices(const project::CheckReport& report) {
  std::vector<DeviceBlocks> blocks{{"cpu", 0, 0}};
  for (const devices::DeviceKind& kind : devices::kinds())
    if (kind.name != kAtHome) blocks.push_back({kind.name, 0, 0});
  blocks.push_back({kAtHome, 0, 0});
  std::vector<std::set<std::string_view>> files(blocks.size());
  for (const auto& d : report.diagnostics) {
    if (d.severity != rules::Severity::kError) continue;
    const rules::Rule* rule = rules::find_rule(d.code);
    const bool mixes = rule != nullptr && rule->info.on_accelerators;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const bool blocked = mixes ? blocks[i].device != "cpu" : blocks[i].device != kAtHome;
      if (!blocked) continue;
      ++blocks[i].findings;
      files[i].insert(d.path);
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].files = files[i].size();
  return blocks;
}

std::vector<Group> by_folder(const project::CheckReport& report) {
  return grouped(
      report, [](const project::Diagnostic& d) { return std::string(base::parent_path(d.path)); });
}

std::vector<Group> by_rule(const project::CheckReport& report) {
  return grouped(report, [](const project::Diagnostic& d) { return d.code; });
}

}  // namespace torchport::report
