#include "runtime/proof/program.h"

#include <chrono>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/file_system.h"
#include "base/process.h"
#include "runtime/device/spec.h"

namespace torchport::proof {

namespace {

namespace fs = std::filesystem;

bool is_left_behind(const fs::path& entry) {
  const std::string name = entry.filename().string();
  return name == ".git" || name == "__pycache__" || name == ".venv" || name == "venv" ||
         name == "node_modules";
}

base::Result<void> copy_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  std::uint64_t bytes = 0;
  fs::create_directories(to, error);
  auto at =
      fs::recursive_directory_iterator(from, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const fs::path target = to / at->path().lexically_relative(from);
    if (is_left_behind(at->path())) {
      at.disable_recursion_pending();
    } else if (at->is_directory() && !at->is_symlink()) {
      fs::create_directories(target, error);
    } else if (at->is_regular_file() || at->is_symlink()) {
      if (at->is_regular_file()) bytes += at->file_size();
      if (bytes > kLargestCopy)
        return tl::unexpected<base::Error>(
            {base::ErrorCode::kUsage,
             fmt::format("the folder has more than {} to copy; --in-place runs the programs "
                         "without copying",
                         base::format_bytes(kLargestCopy, 0)),
             from.string(), 0});
      fs::copy(at->path(), target, fs::copy_options::copy_symlinks, error);
    }
  }
  if (error) return base::fail(base::ErrorCode::kIo, error.message(), from.string());
  return {};
}

// When each file was last written; 0 for one that is not there.
std::vector<std::int64_t> written_at(const fs::path& folder,
                                     const std::vector<std::string>& names) {
  std::vector<std::int64_t> times;
  for (const std::string& name : names)
    times.push_back(base::real_file_system().status((folder / name).string(), true).mtime_ns);
  return times;
}

// Copies those files that were written since `before`.
base::Result<void> keep_written(const fs::path& from, const fs::path& to,
                                const std::vector<std::string>& names,
                                const std::vector<std::int64_t>& before) {
  const auto now = written_at(from, names);
  std::error_code error;
  fs::create_directories(to, error);
  for (std::size_t i = 0; i < names.size() && !error; ++i) {
    if (now[i] == before[i]) continue;
    fs::create_directories((to / names[i]).parent_path(), error);
    if (!error)
      fs::copy_file(from / names[i], to / names[i], fs::copy_options::overwrite_existing, error);
  }
  if (error) return base::fail(base::ErrorCode::kIo, error.message(), from.string());
  return {};
}

}  // namespace

base::Result<Workplace> Workplace::make() {
  auto folder = base::TemporaryFolder::make("torchport-prove");
  if (!folder) return tl::unexpected<base::Error>(folder.error());
  return Workplace(std::move(*folder));
}

base::Result<ProgramResult> Workplace::run(const ProgramRun& program, const std::string& name) {
  const fs::path script = fs::absolute(program.script);
  ProgramResult result;
  result.ran_in = script.parent_path().string();
  if (!program.in_place) {
    result.ran_in = folder_.file("program");
    const auto copied = copy_folder(script.parent_path(), result.ran_in);
    if (!copied) return tl::unexpected<base::Error>(copied.error());
  }
  result.trace = folder_.file(name + ".trace");
  const std::string output = folder_.file(name + ".out");
  const std::string errors = folder_.file(name + ".err");
  std::vector<std::string> words{program.python, script.filename().string()};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  const auto before = written_at(result.ran_in, program.files);
  const auto started = std::chrono::steady_clock::now();
  const auto ended = base::run({.words = std::move(words),
                                .environment = {{device::kVariable, program.devices},
                                                {"TORCHPORT_TRACE", result.trace},
                                                {"TORCHPORT_SEED", program.seed},
                                                {"PYTHONHASHSEED", "0"}},
                                .folder = result.ran_in,
                                .output_file = output,
                                .errors_file = errors});
  if (!ended) return tl::unexpected<base::Error>(ended.error());
  result.status = ended->status();
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const base::FileSystem& files = base::real_file_system();
  result.output = files.read(output).value_or(std::string());
  result.errors = files.read(errors).value_or(std::string());
  result.folder = folder_.file(name);
  if (program.in_place) {
    const auto kept = keep_written(result.ran_in, result.folder, program.files, before);
    if (!kept) return tl::unexpected<base::Error>(kept.error());
  } else {
    std::error_code error;
    fs::rename(result.ran_in, result.folder, error);
    if (error) return base::fail(base::ErrorCode::kIo, error.message(), result.folder);
  }
  return result;
}

}  // namespace torchport::proof
