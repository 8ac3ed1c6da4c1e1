#include "base/partial_file.h"

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_system.h"

namespace torchport::base {

namespace {

// A temporary name that no other file of this process has. A file that a killed process of the same
// number left is skipped.
std::string partial_name(const std::string& path) {
  static std::atomic<unsigned> count{0};
  const std::string name = "." + std::string(file_name(path)) + ".torchport-" +
                           std::to_string(::getpid()) + "-" + std::to_string(count++);
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
}

}  // namespace

Result<PartialFile> PartialFile::create(const std::string& path, std::uint32_t mode) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    std::string partial = partial_name(path);
    const int file =
        ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(mode));
    if (file >= 0) return PartialFile(path, std::move(partial), file);
    if (errno != EEXIST) break;
  }
  return fail(ErrorCode::kIo,
              "cannot create a temporary file beside it: " + std::generic_category().message(errno),
              path);
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      file_(std::exchange(other.file_, -1)) {}

PartialFile::~PartialFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(partial_.c_str());
}

tl::unexpected<Error> PartialFile::failed() const {
  return fail(ErrorCode::kIo, "cannot write: " + std::generic_category().message(errno), path_);
}

Result<void> PartialFile::write(const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(file_, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed();
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return {};
}

Result<void> PartialFile::finish(std::optional<std::uint32_t> mode) {
  if (mode && ::fchmod(file_, static_cast<mode_t>(*mode)) != 0) return failed();
  if (::fsync(file_) != 0 || ::rename(partial_.c_str(), path_.c_str()) != 0) return failed();
  ::close(std::exchange(file_, -1));
  const int folder =
      ::open(std::string(parent_path(path_)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);  // some file systems cannot sync folders; the rename holds all the same
    ::close(folder);
  }
  return {};
}

}  // namespace torchport::base
