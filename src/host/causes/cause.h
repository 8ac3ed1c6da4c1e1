// Why torch does not use this machine's GPU: one cause for each registration, with its remedy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/facts/facts.h"

namespace torchport::host {

struct Diagnosis {
  std::string code;    // "driver-too-old"
  std::string what;    // in one sentence, with the versions that were seen
  std::string remedy;  // what to do about it: a command where there is one
  // How far down the way from silicon to torch it stands. What stands lower explains what stands
  // above, so it comes first.
  int depth = 0;
  bool blocks = true;  // false: torch works, but worse than it could
};

// The way from silicon to torch.
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
  // "uses": torch can use what is there; "none": there is nothing to use; "cannot": there is, and
  // torch cannot; "no torch".
  std::string state;
  std::string summary;               // one line
  std::vector<Diagnosis> diagnoses;  // most likely first
  std::vector<std::string> install;  // commands that install the right build; empty where none is
                                     // needed, or where that cannot be told
};

// "CUDA 13.0", "the CPU".
[[nodiscard]] std::string built_for(const Torch& torch);

// Thread safe; the same facts give the same verdict.
[[nodiscard]] Verdict judge(const Facts& facts);

// What `doctor --require` takes: "cpu", "rocm" and the kinds of devices that doctor can tell of.
[[nodiscard]] std::vector<std::string> requirable_devices();
// Whether torch can compute on a device of this kind: "cuda", "rocm", "xpu", "mps"; "cpu" needs a
// torch that can be read, whatever GPU there is beside it.
[[nodiscard]] bool computes_on(const Facts& facts, const Verdict& verdict, std::string_view kind);

}  // namespace torchport::host
