#include "runtime/proof/program.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file_system.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace torchport::proof {

namespace {

namespace fs = std::filesystem;

base::Error io_error(const std::string& what, const std::string& path) {
  return {base::ErrorCode::kIo, what, path, 0};
}

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
  if (error) return tl::unexpected<base::Error>(io_error(error.message(), from.string()));
  return {};
}

std::vector<std::string> environment_of(const ProgramRun& program, const std::string& trace) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("TORCHPORT_VIRTUAL=") && !text.starts_with("TORCHPORT_TRACE=") &&
        !text.starts_with("TORCHPORT_SEED=") && !text.starts_with("PYTHONHASHSEED="))
      result.emplace_back(text);
  }
  result.push_back("TORCHPORT_VIRTUAL=" + program.devices);
  result.push_back("TORCHPORT_TRACE=" + trace);
  result.push_back("TORCHPORT_SEED=" + program.seed);
  result.emplace_back("PYTHONHASHSEED=0");
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// Runs a command in a folder, with its output in two files, and returns its exit status.
base::Result<int> wait_for(std::vector<std::string> words, std::vector<std::string> environment,
                           const std::string& folder, const std::string& output,
                           const std::string& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), kFlags, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), kFlags, 0644);
  pid_t child = 0;
  auto arguments = pointers(words);
  auto variables = pointers(environment);
  const int rc =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (rc != 0) return tl::unexpected<base::Error>(io_error(std::strerror(rc), words.front()));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR)
      return tl::unexpected<base::Error>(io_error(std::strerror(errno), words.front()));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

base::Result<Workplace> Workplace::make() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "torchport-prove-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    return tl::unexpected<base::Error>(io_error(std::strerror(errno), name));
  return Workplace(name);
}

Workplace::Workplace(Workplace&& other) noexcept : root_(std::move(other.root_)) {
  other.root_.clear();
}

Workplace::~Workplace() {
  std::error_code ignored;
  if (!root_.empty()) fs::remove_all(root_, ignored);
}

base::Result<ProgramResult> Workplace::run(const ProgramRun& program, const std::string& name) {
  const fs::path script = fs::absolute(program.script);
  ProgramResult result;
  result.folder = script.parent_path().string();
  if (!program.in_place) {
    result.folder = (fs::path(root_) / name).string();
    const auto copied = copy_folder(script.parent_path(), result.folder);
    if (!copied) return tl::unexpected<base::Error>(copied.error());
  }
  result.trace = (fs::path(root_) / (name + ".trace")).string();
  const std::string output = (fs::path(root_) / (name + ".out")).string();
  const std::string errors = (fs::path(root_) / (name + ".err")).string();
  std::vector<std::string> words{program.python, script.filename().string()};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  const auto started = std::chrono::steady_clock::now();
  const auto status = wait_for(std::move(words), environment_of(program, result.trace),
                               result.folder, output, errors);
  if (!status) return tl::unexpected<base::Error>(status.error());
  result.status = *status;
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const base::FileSystem& files = base::real_file_system();
  result.output = files.read(output).value_or(std::string());
  result.errors = files.read(errors).value_or(std::string());
  return result;
}

}  // namespace torchport::proof
