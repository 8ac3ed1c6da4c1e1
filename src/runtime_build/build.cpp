#include "runtime_build/build.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "base/process.h"
#include "base/text.h"
#include "runtime_build/workplace.h"

namespace torchport::runtime_build {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownErrors = 5;
// A disk with less room counts as full, in bytes.
constexpr std::uintmax_t kFull = std::uintmax_t{4} << 20U;

// Reads what a file has got since the last call, whole lines only.
class Tail {
 public:
  explicit Tail(std::string path) : path_(std::move(path)) {
    std::error_code error;
    const auto size = fs::file_size(path_, error);
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
    fs::copy(request_.places.source, place_.file("source"), fs::copy_options::recursive, error);
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
    const std::string log = base::real_file_system().read(log_).value_or("");
    std::error_code error;
    // The log is on the same disk, so the reason may be missing in it.
    const auto disk = fs::space(place_.path(), error);
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

  [[nodiscard]] std::vector<Step> steps() const {
    const std::string build = place_.file("build");
    // ccache sees the same paths in each build.
    const std::map<std::string, std::optional<std::string>> cached{
        {"CCACHE_BASEDIR", place_.path()},
        {"CCACHE_SLOPPINESS", "pch_defines,time_macros"},
        {"CCACHE_NOHASHDIR", "1"},
        {"LC_ALL", "C"},
        {"TMPDIR", place_.path()}};
    return {
        {"configuring",
         {request_.tools.cmake, "-S", place_.file("source"), "-B", build, "-G",
          request_.tools.generator, "-DCMAKE_BUILD_TYPE=Release", "-DTORCHPORT_RUNTIME_ONLY=ON",
          "-DTORCHPORT_JOIN_SOURCES=ON", "-DTORCHPORT_PORTABLE=OFF",
          "-DCMAKE_CXX_COMPILER=" + request_.tools.compiler,
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
  }

  // The folder lib/torch-VERSION of what was installed.
  [[nodiscard]] std::string result() const {
    const std::string lib = place_.file("result/torchport/lib");
    const auto entries = base::real_file_system().list(lib);
    return entries && !entries->empty() ? base::join_path(lib, entries->front().name) : lib;
  }

  // Computes on a virtual device with what was built.
  [[nodiscard]] Step trial() const {
    const std::string site = fs::path(request_.torch.root).parent_path();
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
      fs::rename(target, old + std::to_string(tries), error);  // fails if there is none
      error.clear();
      fs::rename(result(), target, error);
      if (!error) return {};
    }
    return base::fail(base::ErrorCode::kIo, error.message(), target);
  }

  // Keeps the log beside the results.
  void keep_log(const std::string& target, Built& built) const {
    std::error_code error;
    fs::rename(log_, target + ".log", error);
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

// A failure to write is a full disk, or what the message says.
base::Result<Built> not_written(const base::Error& error) {
  if (!says_no_space(error.message)) return tl::unexpected<base::Error>(error);
  Built built;
  built.state = Built::State::kNoSpace;
  return built;
}

}  // namespace

base::Result<Built> build(const BuildRequest& request) {
  const base::FileSystem& files = base::real_file_system();
  const std::string target = built_folder(files, request.places, request.torch);
  const std::string parent = fs::path(target).parent_path();
  Workplace::remove_left(parent);
  const auto place = Workplace::make(parent);
  if (!place) return not_written(place.error());
  Work work(request, *place);
  if (const auto copied = work.copy_sources(); !copied) return not_written(copied.error());
  Built built;
  bool well = true;
  for (const Step& step : work.steps()) well = well && work.run(step, built);
  well = well && work.run(work.trial(), built);
  if (!well) {
    if (built.state == Built::State::kFailed) work.keep_log(target, built);
    return built;
  }
  if (const auto moved = work.put(target); !moved) return not_written(moved.error());
  std::error_code ignored;
  fs::remove(target + ".log", ignored);  // of an earlier build that failed
  built.state = Built::State::kDone;
  built.folder = target;
  return built;
}

base::Result<Cleaned> clean(const Places& places) {
  Cleaned cleaned;
  if (places.cache.empty()) return cleaned;
  const base::FileSystem& files = base::real_file_system();
  const auto versions = files.list(places.cache);
  if (!versions) return cleaned;
  std::error_code error;
  for (const base::DirectoryEntry& version : *versions) {
    const std::string folder = base::join_path(places.cache, version.name);
    cleaned.bytes += Workplace::remove_left(folder);
    const auto entries = files.list(folder);
    if (!entries) continue;
    for (const base::DirectoryEntry& entry : *entries) {
      if (!entry.name.starts_with("torch-")) continue;  // only what build() makes
      const std::string path = base::join_path(folder, entry.name);
      const bool is_runtime = entry.type == base::FileType::kDirectory;
      if (is_runtime) cleaned.bytes += size_of_folder(path);
      fs::remove_all(path, error);
      if (error) return base::fail(base::ErrorCode::kIo, error.message(), path);
      if (is_runtime) cleaned.folders.push_back(path);
    }
    fs::remove(folder, error);  // if it is empty
  }
  fs::remove(places.cache, error);
  return cleaned;
}

}  // namespace torchport::runtime_build
