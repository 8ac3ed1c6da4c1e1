// Compiles the libraries for one torch on this machine. All of it happens in a folder of its own
// beside the result, which gets its name by one rename at the end: a build that fails, is
// interrupted or killed leaves no libraries, and two builds at the same time do not disturb each
// other. What a killed build leaves is deleted by the next build and by clean().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime_build/choice.h"
#include "runtime_build/needs.h"

namespace torchport::runtime_build {

struct Progress {
  std::string what;  // "configuring", "compiling", "trying"
  int done = 0;      // of `total` steps; a percentage if only this is known
  int total = 0;     // 0: not known yet
};

struct BuildRequest {
  Places places;
  TorchFiles torch;
  Tools tools;
  std::string python;  // an interpreter from 3.10 on; the one that has the torch, to try the result
  int jobs = 1;
  // Called at each step, and about ten times a second. Returns false to stop the build.
  std::function<bool(const Progress&)> show;
};

struct Built {
  enum class State : std::uint8_t { kDone, kStopped, kNoSpace, kFailed };
  State state = State::kFailed;
  std::string folder;               // the result
  std::string log;                  // if it failed: a file with all output
  std::string why;                  // if it failed: one sentence
  std::vector<std::string> errors;  // if it failed: the first errors of the compiler
};

// Builds what built_folder() names, in place of what is there. Fails with kIo if the cache cannot
// be written.
[[nodiscard]] base::Result<Built> build(const BuildRequest& request);

// Deletes all that build() has made, of all versions. Returns the deleted folders and their size in
// bytes. What a build that runs now is writing is left.
struct Cleaned {
  std::vector<std::string> folders;
  std::uint64_t bytes = 0;
};
[[nodiscard]] base::Result<Cleaned> clean(const Places& places);

// A line of ninja or make as a step: "[3/40] Building" or "[ 12%] Building". False for others,
// which change nothing.
bool read_step(std::string_view line, Progress& progress);

// The first errors of a compiler, a linker or CMake in a log, at most `most`.
[[nodiscard]] std::vector<std::string> first_errors(std::string_view log, std::size_t most);

// Whether a log says that a file could not be written because there is no room.
[[nodiscard]] bool says_no_space(std::string_view log);

}  // namespace torchport::runtime_build
