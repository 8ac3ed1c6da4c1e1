#include "runtime_build/build.h"

#include <filesystem>
#include <system_error>

#include "base/file_system.h"
#include "runtime_build/work.h"
#include "runtime_build/workplace.h"

namespace torchport::runtime_build {

namespace {

namespace fs = std::filesystem;

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
