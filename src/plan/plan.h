// What `torchport plan` knows of a program: the memory of each device at the moment at which it
// held most, and who held it. The processes of the program wrote it
// (python/torchport/virtual/planning.py).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace torchport::plan {

// Blocks that were taken for one purpose, at one line, in one module.
struct Row {
  std::string holds;   // "parameters", "activations", ...
  std::string line;    // "FILE:LINE"
  std::string module;  // "Net.layers.0.act"; empty outside of modules
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
};

// A request that the device had no room for.
struct Failure {
  std::uint64_t bytes = 0;
  std::string line;
  std::string module;
};

// Roughly how long the device is at work, in seconds: no more than an interval.
struct Time {
  std::string unit;  // "step" of an optimizer, "call" of a model, or the whole "program"
  double least = 0;
  double most = 0;
  // At the peaks: where arithmetic takes longer than memory, where memory does, and on links; and
  // what the host takes to start the operators.
  double compute = 0;
  double memory = 0;
  double communication = 0;
  double host = 0;
  double copies = 0;  // between host and device, as far as they cannot overlap each other
  double copies_from_host = 0;
  double copies_to_host = 0;
  std::int64_t operators = 0;
  bool is_known = false;  // the profile has all rates that this takes

  // What takes most of the least time: "compute", "memory", "communication", "host",
  // "copies_from_host" or "copies_to_host".
  [[nodiscard]] std::string bound() const;
};

// The bytes of a device over the run, at intervals of the same number of events (a block is taken
// or given back). Each list has an item for each interval, at its largest sum.
struct Timeline {
  std::uint64_t events = 0;  // of the whole run
  std::uint64_t peak = 0;    // the event at which most was allocated
  std::optional<std::uint64_t> ran_out;
  std::vector<std::uint64_t> at;  // the number of the event
  std::vector<std::uint64_t> allocated;
  std::vector<std::uint64_t> reserved;
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> held;  // by Row::holds
};

// Memory of a device that is not computed exactly: what torch.cuda does not count (the CUDA
// context, NCCL's buffers), and what it counts and nobody publishes (cuDNN's workspaces). An
// interval in bytes with its reason; python/torchport/virtual/outside has the rules.
struct Part {
  std::string name;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::string why;
  // It is taken only where there is room: the program also runs without it.
  bool is_dispensable = false;
};

struct Device {
  std::string name;             // "cuda:0"
  std::uint64_t allocated = 0;  // the largest sums, in bytes, as torch.cuda counts them
  std::uint64_t reserved = 0;
  std::vector<Row> rows;  // when most was allocated; the largest first
  std::vector<Failure> failures;
  Time time{};
  Timeline timeline{};
  std::vector<Row> rows_when_it_ran_out{};  // at the first failure; the largest first
  std::vector<Part> parts{};                // beside what is reserved
  // The largest sum of allocated blocks before the first line that hangs on values, which the
  // program has on any way; none if no line does.
  std::optional<std::uint64_t> at_least{};

  // What the device must hold, in bytes: what is reserved with the parts beside it, but for those
  // that are dispensable.
  [[nodiscard]] std::uint64_t least() const;
  [[nodiscard]] std::uint64_t most() const;
  // What it may hold where there is room.
  [[nodiscard]] std::uint64_t most_with_room() const;
};

// What torch.cuda.memory._dump_snapshot() writes, of one process.
struct Snapshot {
  std::filesystem::path file;
  std::optional<int> rank;
  std::uint64_t dropped = 0;  // the oldest events, which were too many
  bool recorded = true;       // false: the program ended the record before its own end
};

// The kind of a kernel of the program that was given values which are not there.
inline constexpr std::string_view kKernelNotRun = "kernel not run";

struct MissingValue {
  std::string kind;  // "read", "computed on zeros" or "kernel not run"
  std::string operation;
  std::string line;
  std::uint64_t count = 0;
};

enum class Verdict : std::uint8_t {
  kFits,
  kMayNotFit,  // whether it does depends on what is not exact
  kDoesNotFit,
  kUnknown,        // the program failed for another reason
  kHangsOnValues,  // it takes another way with values
};

// Of all processes of the program: a device is that of the process that needs most of it.
struct Plan {
  std::string profile;  // the device's name, "NVIDIA H100 80GB HBM3"
  std::uint64_t memory = 0;
  std::vector<Device> devices;  // those that were used
  std::vector<MissingValue> missing;
  // Lines of a loop, a branch or a size that hangs on values which were not there; and lines whose
  // results were planned as large as they can be.
  std::vector<std::string> hangs_on{};
  std::vector<std::string> at_most{};
  std::set<std::string> uncertain{};  // why a figure may be another one, in words
  std::string ended_with;             // the exception that ended the program; empty if none did
  std::string ended_early{};  // by the plan: after "steps" or "seconds"; empty if it was not
  std::int64_t steps = 0;     // that the optimizer took that took most
  int batches = 0;            // the most of one pass over a DataLoader, if the plan set one
  double seconds = 0;
  int status = 0;
  int processes = 0;
  std::map<std::string, std::int64_t> changes;  // of --what-if: how often each was made
  int ranks = 0;  // one process stands for so many that are assumed to be alike; 0 if none do
  std::vector<Snapshot> snapshots{};
  std::string notes{};  // lines about files that were written

  [[nodiscard]] bool ran_out() const;
  [[nodiscard]] Verdict verdict() const;
  // Of the way that was planned, whatever it hangs on.
  [[nodiscard]] Verdict verdict_as_planned() const;
  // The lines for which the verdict is kHangsOnValues.
  [[nodiscard]] const std::vector<std::string>& lines_it_hangs_on() const;
  [[nodiscard]] std::string ended_by() const;
  // Whether the user ended it, by Ctrl-C.
  [[nodiscard]] bool was_interrupted() const;
};

// Reads what the processes of a program wrote into a folder. Fails with kSyntax, and with kIo if
// there is nothing: no process had used a device of torch.
[[nodiscard]] base::Result<Plan> read_plan(const std::filesystem::path& folder, int status);

}  // namespace torchport::plan
