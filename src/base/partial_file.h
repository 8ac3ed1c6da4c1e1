// A file that takes its name only when all of it is on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace torchport::base {

// Written beside `path` under a name of its own; finish() gives it its name, and whatever had that
// name before is replaced then. Destroyed unfinished, it leaves nothing. Not thread safe.
class PartialFile {
 public:
  // The umask takes bits off `mode`, as of any new file.
  [[nodiscard]] static Result<PartialFile> create(const std::string& path,
                                                  std::uint32_t mode = 0666);
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  [[nodiscard]] Result<void> write(const void* data, std::size_t size);
  // fsync, rename, fsync of the folder. `mode`: exactly these permissions, whatever the umask.
  [[nodiscard]] Result<void> finish(std::optional<std::uint32_t> mode = std::nullopt);

 private:
  PartialFile(std::string path, std::string partial, int file)
      : path_(std::move(path)), partial_(std::move(partial)), file_(file) {}
  [[nodiscard]] tl::unexpected<Error> failed() const;

  std::string path_;
  std::string partial_;
  int file_ = -1;
};

}  // namespace torchport::base
