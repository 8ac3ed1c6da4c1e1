// Runs a Python program for a proof: in a copy of its folder, on chosen devices, with a trace. The
// copy keeps the two runs of a proof from seeing each other's files, such as checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/temporary_folder.h"

namespace torchport::proof {

struct ProgramRun {
  std::string python;  // the interpreter
  std::string script;
  std::vector<std::string> arguments;
  std::string devices;  // a device spec (device/spec.h); "none" hides CUDA
  std::string seed;
  // Files of the folder that it writes, to be compared afterwards. In place, what it wrote is kept
  // before another run writes them.
  std::vector<std::string> files;
  bool in_place = false;  // run in the script's folder instead of a copy
};

struct ProgramResult {
  int status = 0;  // exit code; 128 + N if signal N ended it
  double seconds = 0;
  std::string output;  // standard output
  std::string errors;  // standard error
  std::string trace;   // path of the trace, which does not exist if torch was never imported
  std::string ran_in;  // the folder that it saw, the same one for all runs in copies
  std::string folder;  // where its files are now; in place, only what it wrote of `files`
};

// A temporary folder for runs.
class Workplace {
 public:
  [[nodiscard]] static base::Result<Workplace> make();
  // Runs a program until it ends. `name` tells runs apart. Copies run at one path, so that what a
  // program prints or compiles of its own folder is the same in each. Not thread-safe. Fails with
  // kUsage if the folder is too large to be copied, and with kIo.
  [[nodiscard]] base::Result<ProgramResult> run(const ProgramRun& program, const std::string& name);

 private:
  explicit Workplace(base::TemporaryFolder folder) : folder_(std::move(folder)) {}

  base::TemporaryFolder folder_;
};

// The size in bytes of the largest folder that is copied.
constexpr std::uint64_t kLargestCopy = std::uint64_t{512} << 20U;

}  // namespace torchport::proof
