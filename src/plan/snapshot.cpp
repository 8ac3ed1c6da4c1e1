#include "plan/snapshot.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace torchport::plan {

namespace {

// A rename does not reach another file system.
base::Result<void> move_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error == std::errc::cross_device_link) {
    error.clear();
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, error);
  }
  if (error) return base::fail(base::ErrorCode::kIo, error.message(), to.string());
  return {};
}

bool ranks_differ(const std::vector<Snapshot>& snapshots) {
  std::set<int> ranks;
  return std::all_of(snapshots.begin(), snapshots.end(), [&](const Snapshot& one) {
    return one.rank && ranks.insert(*one.rank).second;
  });
}

std::string told_of(const Snapshot& snapshot) {
  std::string text =
      fmt::format("{}: open it at https://pytorch.org/memory_viz", snapshot.file.string());
  if (snapshot.dropped > 0)
    text += fmt::format("; the first {} events are missing, since there were more than {} a device",
                        snapshot.dropped, kMostSnapshotEvents);
  if (!snapshot.recorded)
    text += "; the program ended the record itself, so that earlier events are missing";
  return text + "\n";
}

}  // namespace

base::Result<void> check_target(std::string_view option, const std::filesystem::path& target) {
  std::error_code error;
  const auto folder = target.has_parent_path() ? target.parent_path() : ".";
  if (!target.has_filename() || std::filesystem::is_directory(target, error) ||
      !std::filesystem::is_directory(folder, error))
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("{} {}: name a file in a folder that exists", option, target.string()));
  return {};
}

base::Result<void> check_snapshot(const std::filesystem::path& target, const std::string& devices) {
  if (!devices.empty() && devices.substr(0, devices.find(':')) != "cuda")
    return base::fail(base::ErrorCode::kUsage,
                      "--snapshot: PyTorch records the memory of CUDA devices only; plan for "
                      "--devices cuda:N");
  return check_target("--snapshot", target);
}

base::Result<void> keep_snapshots(Plan& plan, const std::filesystem::path& target) {
  if (plan.snapshots.empty())
    return base::fail(base::ErrorCode::kIo, "no process of the program wrote a snapshot",
                      target.string());
  std::vector<Snapshot>& snapshots = plan.snapshots;
  const bool by_rank = ranks_differ(snapshots);
  if (by_rank)
    std::sort(snapshots.begin(), snapshots.end(),
              [](const Snapshot& a, const Snapshot& b) { return a.rank < b.rank; });
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    std::filesystem::path file = target;
    if (snapshots.size() > 1) {
      const std::string name =
          by_rank ? fmt::format("rank{}", *snapshots[i].rank) : fmt::format("process{}", i);
      file.replace_filename(
          fmt::format("{}.{}{}", target.stem().string(), name, target.extension().string()));
    }
    const auto moved = move_file(snapshots[i].file, file);
    if (!moved) return tl::unexpected<base::Error>(moved.error());
    snapshots[i].file = file;
    plan.notes += told_of(snapshots[i]);
  }
  return {};
}

}  // namespace torchport::plan
