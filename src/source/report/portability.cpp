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

// The rule of statements that end the program without CUDA.
constexpr std::string_view kDemand = "TP110";

bool is_in(std::string_view path, std::string_view folder) {
  return folder.empty() || folder == "." ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

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

std::vector<const project::Diagnostic*> demands(const project::CheckReport& report) {
  std::vector<const project::Diagnostic*> found;
  for (const auto& d : report.diagnostics)
    if (d.code == kDemand) found.push_back(&d);
  return found;
}

int portability_score(const project::CheckReport& report) {
  if (report.relevant == 0) return 100;
  std::map<std::string_view, double> lost_of;
  for (const auto& d : report.diagnostics) {
    double& lost = lost_of[d.path];
    lost = std::max(lost, d.severity == rules::Severity::kError ? 1.0 : 0.5);
  }
  for (const project::Diagnostic* demand : demands(report)) {
    const std::string_view folder = base::parent_path(demand->path);
    for (const std::string& path : report.relevant_paths)
      if (is_in(path, folder)) lost_of[path] = 1.0;
  }
  double lost = 0;
  for (const auto& [path, share] : lost_of) lost += share;
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
