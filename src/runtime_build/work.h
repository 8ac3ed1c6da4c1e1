// One build while it runs: its steps, and how each of them ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file_system.h"
#include "base/process.h"
#include "base/text.h"
#include "runtime_build/build.h"
#include "runtime_build/workplace.h"

namespace torchport::runtime_build {

inline constexpr std::size_t kShownErrors = 5;
// A disk with less room counts as full, in bytes.
inline constexpr std::uintmax_t kFull = std::uintmax_t{4} << 20U;

// Reads what a file has got since the last call, whole lines only.
class Tail {
 public:
  explicit Tail(std::string path) : path_(std::move(path)) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path_, error);
    if (!error) read_ = static_cast<std::streamoff>(size);
  }

  // Updates the progress by the new lines.
  void read(Progress& progress) {
    std::ifstream file(path_);
    file.seekg(read_);
    for (std::string line; std::getline(file, line) && !file.eof();) {
      read_ += static_cast<std::streamoff>(line.size()) + 1;
      read_step(line, progress);
    }
  }

 private:
  std::string path_;
  std::streamoff read_ = 0;
};

struct Step {
  const char* what;
  std::vector<std::string> words;
  std::map<std::string, std::optional<std::string>> environment{};
};

// One build while it runs.
class Work {
 public:
  Work(const BuildRequest& request, const Workplace& place)
      : request_(request), place_(place), log_(place.file("log")) {}

  [[nodiscard]] base::Result<void> copy_sources() const {
    std::error_code error;
    std::filesystem::copy(request_.places.source, place_.file("source"),
                          std::filesystem::copy_options::recursive, error);
    if (error) return base::fail(base::ErrorCode::kIo, error.message(), place_.file("source"));
    return {};
  }

  // Whether the step ended well. If not, `built` says why.
  bool run(const Step& step, Built& built) {
    Progress progress{step.what, 0, 0};
    if (!request_.show(progress)) return stop(built);
    Tail tail(log_);
    // Both streams in one file, in their order; the shell becomes the program.
    std::vector<std::string> words{"/bin/sh", "-c", "exec \"$@\" >>\"$0\" 2>&1", log_};
    words.insert(words.end(), step.words.begin(), step.words.end());
    const auto ended = base::run({.words = words,
                                  .environment = step.environment,
                                  .folder = place_.path(),
                                  .output_file = base::kNowhere,
                                  .errors_file = base::kNowhere,
                                  .watch = [&] {
                                    tail.read(progress);
                                    return request_.show(progress);
                                  }});
    if (ended && ended->well()) return true;
    if (ended && ended->stopped) return stop(built);
    const std::string log = this->log();
    std::error_code error;
    // The log is on the same disk, so the reason may be missing in it.
    const auto disk = std::filesystem::space(place_.path(), error);
    const bool full = says_no_space(log) || (!error && disk.available < kFull);
    built.state = full ? Built::State::kNoSpace : Built::State::kFailed;
    built.why = fmt::format("{} failed", step.what);
    built.errors = first_errors(log, kShownErrors);
    if (built.errors.empty()) {
      const auto lines = base::split(base::trim(log), '\n');
      built.errors.emplace_back(base::trim(lines.back()));
    }
    return false;
  }

  // `keep_going`: compile what can be compiled after an error, too.
  [[nodiscard]] std::vector<Step> steps(bool keep_going = false) const {
    const std::string build = place_.file("build");
    // ccache sees the same paths in each build.
    const std::map<std::string, std::optional<std::string>> cached{
        {"CCACHE_BASEDIR", place_.path()},
        {"CCACHE_SLOPPINESS", "pch_defines,time_macros"},
        {"CCACHE_NOHASHDIR", "1"},
        {"LC_ALL", "C"},
        {"TMPDIR", place_.path()}};
    std::vector<Step> steps{
        {"configuring",
         {request_.tools.cmake, "-S", place_.file("source"), "-B", build, "-G",
          request_.tools.generator, "-DCMAKE_BUILD_TYPE=Release", "-DTORCHPORT_RUNTIME_ONLY=ON",
          "-DTORCHPORT_PORTABLE=OFF", "-DCMAKE_CXX_COMPILER=" + request_.tools.compiler,
          "-DTORCHPORT_TORCH_ROOT=" + request_.torch.root,
          "-DPython3_EXECUTABLE=" + request_.python},
         cached},
        {"compiling",
         {request_.tools.cmake, "--build", build, "--target", "torchport_runtime", "-j",
          std::to_string(request_.jobs)},
         cached},
        {"installing",
         {request_.tools.cmake, "--install", build, "--component", "runtime", "--strip", "--prefix",
          place_.file("result")}},
    };
    if (keep_going) {
      steps[1].words.insert(steps[1].words.end(), {"--", "-k"});
      if (request_.tools.generator == "Ninja") steps[1].words.emplace_back("0");
    }
    return steps;
  }

  [[nodiscard]] std::string log() const { return base::real_file_system().read(log_).value_or(""); }

  // The folder lib/torch-VERSION of what was installed.
  [[nodiscard]] std::string result() const {
    const std::string lib = place_.file("result/torchport/lib");
    const auto entries = base::real_file_system().list(lib);
    return entries && !entries->empty() ? base::join_path(lib, entries->front().name) : lib;
  }

  // Computes on a virtual device with what was built.
  [[nodiscard]] Step trial() const {
    const std::string site = std::filesystem::path(request_.torch.root).parent_path();
    return {"trying",
            {request_.python, "-W", "ignore", "-m", "torchport._try_runtime", site, result()},
            {{"PYTHONDONTWRITEBYTECODE", "1"}, {"TORCHPORT_VIRTUAL", "cuda:1"}}};
  }

  // Moves the result to its name. If another build was faster, its result is replaced.
  [[nodiscard]] base::Result<void> put(const std::string& target) const {
    std::error_code error;
    const std::string old = place_.file("old");
    for (int tries = 0; tries < 10; ++tries) {
      error.clear();
      std::filesystem::rename(target, old + std::to_string(tries),
                              error);  // fails if there is none
      error.clear();
      std::filesystem::rename(result(), target, error);
      if (!error) return {};
    }
    return base::fail(base::ErrorCode::kIo, error.message(), target);
  }

  // Keeps the log beside the results.
  void keep_log(const std::string& target, Built& built) const {
    std::error_code error;
    std::filesystem::rename(log_, target + ".log", error);
    if (!error) built.log = target + ".log";
  }

 private:
  static bool stop(Built& built) {
    built.state = Built::State::kStopped;
    return false;
  }

  const BuildRequest& request_;
  const Workplace& place_;
  std::string log_;
};

}  // namespace torchport::runtime_build
