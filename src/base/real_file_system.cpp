#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file_system.h"
#include "base/partial_file.h"

namespace torchport::base {

namespace {

tl::unexpected<Error> io_error(const std::string& path, std::string_view what = {}) {
  std::string message = std::generic_category().message(errno);
  if (!what.empty()) message = std::string(what) + ": " + message;
  return fail(ErrorCode::kIo, std::move(message), path);
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

FileType type_of(mode_t mode) {
  if (S_ISREG(mode)) return FileType::kRegular;
  if (S_ISDIR(mode)) return FileType::kDirectory;
  if (S_ISLNK(mode)) return FileType::kSymlink;
  return FileType::kOther;
}

class RealFileSystem final : public FileSystem {
 public:
  [[nodiscard]] Result<std::string> read(const std::string& path) const override {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.ok()) return io_error(path);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return io_error(path);
    if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kIo, "Not a regular file", path);
    std::string content;
    content.resize(static_cast<std::size_t>(info.st_size));
    std::size_t filled = 0;
    while (true) {
      // Reads one byte more than expected, so that a file that grows meanwhile is read to its end.
      if (filled == content.size()) content.resize(filled + (filled == 0 ? 4096 : 1));
      const ssize_t got = ::read(file.get(), content.data() + filled, content.size() - filled);
      if (got < 0) {
        if (errno == EINTR) continue;
        return io_error(path);
      }
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
    }
    content.resize(filled);
    return content;
  }

  [[nodiscard]] FileStatus status(const std::string& path, bool follow_links) const override {
    struct stat info {};
    const int rc = follow_links ? ::stat(path.c_str(), &info) : ::lstat(path.c_str(), &info);
    FileStatus status;
    if (rc != 0) return status;
    status.type = type_of(info.st_mode);
    status.size = static_cast<std::uint64_t>(info.st_size);
    status.mode = info.st_mode & 07777U;
    status.device = info.st_dev;
    status.inode = info.st_ino;
    status.mtime_ns =
        static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
    status.links = info.st_nlink;
    return status;
  }

  [[nodiscard]] Result<std::vector<DirectoryEntry>> list(const std::string& path) const override {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
    if (!folder) return io_error(path);
    std::vector<DirectoryEntry> entries;
    while (const dirent* entry = ::readdir(folder.get())) {
      std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      FileType type = FileType::kOther;
      switch (entry->d_type) {
        case DT_REG:
          type = FileType::kRegular;
          break;
        case DT_DIR:
          type = FileType::kDirectory;
          break;
        case DT_LNK:
          type = FileType::kSymlink;
          break;
        case DT_UNKNOWN:
          type = status(join_path(path, name), false).type;
          break;
        default:
          break;
      }
      entries.push_back({std::move(name), type});
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return entries;
  }

  [[nodiscard]] Result<std::string> canonical(const std::string& path) const override {
    const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr),
                                                          ::free);
    if (!resolved) return io_error(path);
    return std::string(resolved.get());
  }

  [[nodiscard]] Result<void> write_atomic(const std::string& path, std::string_view content,
                                          std::uint32_t mode) override {
    auto file = PartialFile::create(path, 0600);
    if (!file) return tl::unexpected(file.error());
    if (auto written = file->write(content.data(), content.size()); !written) return written;
    return file->finish(mode);
  }

  [[nodiscard]] Result<void> create(const std::string& path, std::string_view content,
                                    std::uint32_t mode) override {
    const FileDescriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.ok()) return io_error(path, "cannot create a file");
    const auto failed = [&] {
      auto error = io_error(path, "cannot write");
      ::unlink(path.c_str());
      return error;
    };
    while (!content.empty()) {
      const ssize_t written = ::write(file.get(), content.data(), content.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failed();
      content.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fchmod(file.get(), static_cast<mode_t>(mode)) != 0) return failed();
    return {};
  }

  [[nodiscard]] Result<void> copy_attributes(const std::string& from,
                                             const std::string& to) override {
    const FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const FileDescriptor target(::open(to.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat old_info {};
    struct stat new_info {};
    if (!source.ok() || !target.ok() || ::fstat(source.get(), &old_info) != 0 ||
        ::fstat(target.get(), &new_info) != 0)
      return io_error(from);
    const uid_t owner =
        old_info.st_uid == new_info.st_uid ? static_cast<uid_t>(-1) : old_info.st_uid;
    const gid_t group =
        old_info.st_gid == new_info.st_gid ? static_cast<gid_t>(-1) : old_info.st_gid;
    if (owner != static_cast<uid_t>(-1) || group != static_cast<gid_t>(-1)) {
      if (::fchown(target.get(), owner, group) != 0)
        return io_error(from, "belongs to another user or group, which it would lose");
      // The change of the owner took bits away.
      if (::fchmod(target.get(), new_info.st_mode & 07777U) != 0) return io_error(from);
    }
    std::string names(
        static_cast<std::size_t>(std::max<ssize_t>(::flistxattr(source.get(), nullptr, 0), 0)),
        '\0');
    const ssize_t length =
        names.empty() ? 0 : ::flistxattr(source.get(), names.data(), names.size());
    for (ssize_t at = 0; at < length;) {
      const std::string name(names.c_str() + at);
      at += static_cast<ssize_t>(name.size()) + 1;
      if (auto copied = copy_attribute(source.get(), target.get(), name, from); !copied)
        return copied;
    }
    return {};
  }

  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return io_error(to, "cannot write");
    return {};
  }

  [[nodiscard]] static Result<void> copy_attribute(int source, int target, const std::string& name,
                                                   const std::string& path) {
    const ssize_t size = ::fgetxattr(source, name.c_str(), nullptr, 0);
    if (size < 0) return {};  // it went, or only the system reads it
    std::string value(static_cast<std::size_t>(size), '\0');
    const ssize_t got = ::fgetxattr(source, name.c_str(), value.data(), value.size());
    if (got < 0) return io_error(path, "cannot read its attribute " + name);
    if (::fsetxattr(target, name.c_str(), value.data(), static_cast<std::size_t>(got), 0) == 0)
      return {};
    // Labels of security modules are the system's: the new file has that of its folder.
    if (name.starts_with("security.") || name.starts_with("trusted.")) return {};
    return io_error(path, "would lose its attribute " + name);
  }

  [[nodiscard]] Result<void> sync(const std::vector<std::string>& folders) override {
    std::set<dev_t> done;
    for (const std::string& path : folders) {
      const FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      struct stat info {};
      if (!folder.ok() || ::fstat(folder.get(), &info) != 0) return io_error(path);
      if (done.insert(info.st_dev).second && ::syncfs(folder.get()) != 0)
        return io_error(path, "cannot write");
    }
    return {};
  }

  [[nodiscard]] Result<void> make_directories(const std::string& path) override {
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
      const std::string part = path.substr(0, slash);
      if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST)
        return io_error(part, "cannot create the folder");
      if (slash == std::string::npos) return {};
    }
  }

  [[nodiscard]] Result<void> remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return io_error(path);
    return {};
  }
};

}  // namespace

FileSystem& real_file_system() {
  static RealFileSystem instance;
  return instance;
}

}  // namespace torchport::base
