// A folder with a name of its own among the temporary files, deleted with everything in it at the
// end of its scope.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/result.h"

namespace torchport::base {

class TemporaryFolder {
 public:
  // `name` is the first part of the folder's name. Fails with kIo.
  [[nodiscard]] static Result<TemporaryFolder> make(std::string_view name = "torchport") {
    std::error_code error;
    const auto parent = std::filesystem::temp_directory_path(error);
    std::string path = (parent / std::string(name).append("-XXXXXX")).string();
    if (!error && ::mkdtemp(path.data()) == nullptr) error = {errno, std::generic_category()};
    if (error) return fail(ErrorCode::kIo, error.message(), path);
    return TemporaryFolder(std::move(path));
  }
  // For unit tests. Throws if the folder cannot be made.
  TemporaryFolder() : TemporaryFolder(make().value()) {}
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace torchport::base
