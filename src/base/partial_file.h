// Writes a file that gets its name only when it is completely on disk, so that no reader ever sees
// half a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace torchport::base {

// The file is written beside `path` under a temporary name. finish() renames it and replaces an
// existing file. If it is destroyed before that, it leaves nothing. Not thread safe.
class PartialFile {
 public:
  // The umask reduces `mode`, as for any new file.
  [[nodiscard]] static Result<PartialFile> create(const std::string& path,
                                                  std::uint32_t mode = 0666);
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  [[nodiscard]] Result<void> write(const void* data, std::size_t size);
  // Calls fsync, rename and fsync of the folder. `mode` sets exactly these permissions, whatever
  // the umask.
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
