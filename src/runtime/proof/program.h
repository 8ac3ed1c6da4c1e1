// One run of a Python program for a proof: in a copy of its folder, on chosen devices, traced.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace torchport::proof {

struct ProgramRun {
  std::string python;  // the interpreter
  std::string script;
  std::vector<std::string> arguments;
  std::string devices;  // device/spec.h; "none" hides CUDA
  std::string seed;
  bool in_place = false;  // not in a copy of the script's folder
};

struct ProgramResult {
  int status = 0;  // exit code; 128 + N where signal N ended it
  double seconds = 0;
  std::string output;  // standard output
  std::string errors;  // standard error
  std::string trace;   // path of the trace; there may be none where torch was never imported
  std::string folder;  // where it ran
};

// A folder for runs, which goes with everything in it.
class Workplace {
 public:
  [[nodiscard]] static base::Result<Workplace> make();
  Workplace(Workplace&& other) noexcept;
  Workplace& operator=(Workplace&&) = delete;
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace();

  // Runs it to its end; `name` tells runs apart. Fails with kUsage when the folder is too large to
  // be copied, and with kIo.
  [[nodiscard]] base::Result<ProgramResult> run(const ProgramRun& program, const std::string& name);

 private:
  explicit Workplace(std::string root) : root_(std::move(root)) {}

  std::string root_;
};

// The largest folder that is copied, in bytes.
constexpr std::uint64_t kLargestCopy = std::uint64_t{512} << 20U;

}  // namespace torchport::proof
