// The files that PyTorch's memory viewer opens (https://pytorch.org/memory_viz), one of each
// process of a program that `torchport plan --snapshot` ran.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/plan.h"

namespace torchport::plan {

// The events of each device that a snapshot may have. One takes some 1.4 KB of the host's memory
// (ten steps of a 7B model have 56,409).
inline constexpr std::uint64_t kMostSnapshotEvents = 200'000;

// Why no file of an option can be written there: kUsage, before the program runs for nothing.
[[nodiscard]] base::Result<void> check_target(std::string_view option,
                                              const std::filesystem::path& target);

// check_target() for a snapshot of such devices (as `torchport run --devices` takes them; empty:
// CUDA's).
[[nodiscard]] base::Result<void> check_snapshot(const std::filesystem::path& target,
                                                const std::string& devices);

// Moves the snapshots of a plan to where the user wants them: to `target`, and those of several
// processes to NAME.rank0.pickle and so on beside it (NAME.process0.pickle where no process knows
// its rank). An earlier file of such a name is replaced. The plan then has their new places, and a
// line about each in its notes. Fails with kIo.
[[nodiscard]] base::Result<void> keep_snapshots(Plan& plan, const std::filesystem::path& target);

}  // namespace torchport::plan
