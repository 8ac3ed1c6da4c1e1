#include "runtime_build/workplace.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file_system.h"

namespace torchport::runtime_build {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".building-";
constexpr const char* kLock = "lock";

// A lock that this process holds as long as it lives; -1 if another one has it.
int take_lock(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  return -1;
}

}  // namespace

base::Result<Workplace> Workplace::make(const std::string& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  std::string path = parent + "/" + std::string(kPrefix) + "XXXXXX";
  if (!error && mkdtemp(path.data()) == nullptr) error = {errno, std::generic_category()};
  if (error) return base::fail(base::ErrorCode::kIo, error.message(), parent);
  const int lock = take_lock(path + "/" + kLock);
  return Workplace(std::move(path), lock);
}

Workplace::Workplace(Workplace&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}

Workplace::~Workplace() {
  if (!path_.empty()) remove_folder(path_);
  if (lock_ >= 0) close(lock_);
}

std::uint64_t Workplace::remove_left(const std::string& parent) {
  std::uint64_t bytes = 0;
  const auto entries = base::real_file_system().list(parent);
  if (!entries) return 0;
  for (const base::DirectoryEntry& entry : *entries) {
    if (!entry.name.starts_with(kPrefix) || entry.type != base::FileType::kDirectory) continue;
    const std::string path = base::join_path(parent, entry.name);
    const int lock = take_lock(path + "/" + kLock);
    if (lock < 0) continue;
    bytes += size_of_folder(path);
    remove_folder(path);
    close(lock);
  }
  return bytes;
}

void remove_folder(const std::string& path) {
  for (int tries = 0; tries < 50; ++tries) {
    std::error_code error;
    fs::remove_all(path, error);
    if (!fs::exists(path, error)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::uint64_t size_of_folder(const std::string& path) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && !at->is_symlink(ignored)) bytes += at->file_size(ignored);
  }
  return bytes;
}

}  // namespace torchport::runtime_build
