// Defines a cause: one reason why torch does not use this machine's GPU. Each is a function with a
// registration, in a file of its own in the folder of its subject: a vendor or torch. Causes share
// a file if they share code.
//
// A cause uses only the facts, so that a recorded machine gives the same verdict on any other, and
// a test can replay it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/facts/facts.h"

namespace torchport::host {

// What a cause says about one machine.
struct Diagnosis {
  std::string code;    // "driver-too-old"
  std::string what;    // in one sentence, with the versions that were seen
  std::string remedy;  // what to do about it: a command where there is one
  // Its position between the hardware and torch. A lower one explains those above it, so it comes
  // first.
  int depth = 0;
  bool blocks = true;  // false: torch works, but not as well as it could
};

// The positions, from the hardware up to torch.
inline constexpr int kHardware = 0;
inline constexpr int kKernel = 1;
inline constexpr int kContainer = 2;
inline constexpr int kPermission = 3;
inline constexpr int kUserDriver = 4;
inline constexpr int kEnvironment = 5;
inline constexpr int kBuild = 6;
inline constexpr int kToolkit = 7;

using Examine = std::optional<Diagnosis> (*)(const Facts& facts);

struct CauseRegistration {
  explicit CauseRegistration(Examine examine);
};

struct Verdict {
  // "uses": torch can use the GPU; "none": there is no GPU; "cannot": there is one, and torch
  // cannot use it, or no program can import torch; "no torch"; "unknown": the facts do not suffice.
  std::string state;
  std::string summary;  // one line
  // Those that block come first, then those with a lower depth, then by code and text: never in the
  // order in which causes were registered, which depends on the linker.
  std::vector<Diagnosis> diagnoses;
  // commands that install the right build; empty if none is needed or known
  std::vector<std::string> install;
};

// What a torch was built for: "CUDA 13.0", "the CPU".
[[nodiscard]] std::string built_for(const Torch& torch);

// Runs all causes. The same facts give the same verdict. Thread safe.
[[nodiscard]] Verdict judge(const Facts& facts);

// The values of `doctor --require`: "cpu", "rocm" and the device kinds that doctor knows.
[[nodiscard]] std::vector<std::string> requirable_devices();
// Whether torch can compute on a device of this kind: "cuda", "rocm", "xpu", "mps". "cpu" needs
// only a torch that can be read.
[[nodiscard]] bool computes_on(const Facts& facts, const Verdict& verdict, std::string_view kind);

}  // namespace torchport::host
