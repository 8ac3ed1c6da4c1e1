// Passes the file system as an argument, so that every test above this layer runs in memory, and
// writing can be tested against a full disk.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace torchport::base {

enum class FileType : std::uint8_t { kMissing, kRegular, kDirectory, kSymlink, kOther };

struct FileStatus {
  FileType type = FileType::kMissing;
  std::uint64_t size = 0;    // bytes
  std::uint32_t mode = 0;    // permission bits
  std::uint64_t device = 0;  // with inode: identifies a directory, to stop at symlink loops
  std::uint64_t inode = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t links = 1;  // the names that the file has
};

struct DirectoryEntry {
  std::string name;
  FileType type = FileType::kOther;  // of the entry itself: links are not followed
};

// All calls may fail with kIo, and none throws. Implementations are thread safe as long as no two
// calls write the same path.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  [[nodiscard]] virtual Result<std::string> read(const std::string& path) const = 0;
  // A missing path is not an error: its type is kMissing. Follows links if `follow_links`.
  [[nodiscard]] virtual FileStatus status(const std::string& path, bool follow_links) const = 0;
  // Entries in byte order of their names, without "." and "..".
  [[nodiscard]] virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) const = 0;
  // The path with every link resolved.
  [[nodiscard]] virtual Result<std::string> canonical(const std::string& path) const = 0;
  // Replaces `path` completely or leaves it unchanged: temporary file beside it, fsync, rename,
  // fsync of the folder. `mode` is the new file's mode.
  [[nodiscard]] virtual Result<void> write_atomic(const std::string& path, std::string_view content,
                                                  std::uint32_t mode) = 0;
  // Creates a file, which must not exist yet, with exactly this mode. It is not synced. If it
  // fails, it leaves nothing.
  [[nodiscard]] virtual Result<void> create(const std::string& path, std::string_view content,
                                            std::uint32_t mode) = 0;
  // Gives `to`, a new file of this user, the owner, group, ACL and extended attributes of `from`.
  // Fails and says what cannot be given. An attribute that only the system sets is left out.
  [[nodiscard]] virtual Result<void> copy_attributes(const std::string& from,
                                                     const std::string& to) = 0;
  // Renames a file and replaces `to`, in one step for readers. It is not synced.
  [[nodiscard]] virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  // Waits until everything that was written to the file systems of these folders is on disk: one
  // wait for each file system, however many files there are.
  [[nodiscard]] virtual Result<void> sync(const std::vector<std::string>& folders) = 0;
  [[nodiscard]] virtual Result<void> make_directories(const std::string& path) = 0;
  [[nodiscard]] virtual Result<void> remove(const std::string& path) = 0;
};

// The machine's own file system. One instance lives as long as the program.
FileSystem& real_file_system();

// A file system in memory. Links are not modelled.
class MemoryFileSystem final : public FileSystem {
 public:
  void add(const std::string& path, std::string content);
  // The n-th write (from 1) and all later ones fail as on a full disk.
  void fail_writes_from(int n) { fail_from_ = n; }
  // Called before each call that changes something. It may throw, as if the program ended there.
  void before_each_change(std::function<void()> hook) { hook_ = std::move(hook); }
  // How often the disk was waited for.
  [[nodiscard]] int syncs() const { return syncs_; }

  [[nodiscard]] Result<std::string> read(const std::string& path) const override;
  [[nodiscard]] FileStatus status(const std::string& path, bool follow_links) const override;
  [[nodiscard]] Result<std::vector<DirectoryEntry>> list(const std::string& path) const override;
  [[nodiscard]] Result<std::string> canonical(const std::string& path) const override;
  [[nodiscard]] Result<void> write_atomic(const std::string& path, std::string_view content,
                                          std::uint32_t mode) override;
  [[nodiscard]] Result<void> create(const std::string& path, std::string_view content,
                                    std::uint32_t mode) override;
  [[nodiscard]] Result<void> copy_attributes(const std::string& from,
                                             const std::string& to) override;
  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<void> sync(const std::vector<std::string>& folders) override;
  [[nodiscard]] Result<void> make_directories(const std::string& path) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;

 private:
  struct File {
    std::string content;
    std::uint32_t mode = 0644;
  };
  void changing() {
    if (hook_) hook_();
  }
  [[nodiscard]] bool full() { return ++writes_ >= fail_from_ && fail_from_ != 0; }

  std::function<void()> hook_;
  std::map<std::string, File> files_;
  int fail_from_ = 0;
  int writes_ = 0;
  int syncs_ = 0;
};

// Joins paths: "a/b" + "c" -> "a/b/c". A "." is dropped.
[[nodiscard]] std::string join_path(std::string_view folder, std::string_view name);
// The part after the last slash.
[[nodiscard]] std::string_view file_name(std::string_view path);
// The part before the last slash; "." if there is none.
[[nodiscard]] std::string_view parent_path(std::string_view path);
// Whether a path is a folder, or lies in it. Both are written alike: absolute, or from one place,
// where "" is the folder of all relative paths.
[[nodiscard]] bool is_within(std::string_view path, std::string_view folder);
// Where torchport keeps what it can make again: $TORCHPORT_CACHE_DIR, else a folder of
// $XDG_CACHE_HOME or of $HOME. Empty if this user has none of them. `variable` reads an environment
// variable, empty if it is not set.
[[nodiscard]] std::string cache_folder(const std::function<std::string(const char*)>& variable);

}  // namespace torchport::base
