// The folder in which one build works. It is deleted at the end of its scope; a lock says that the
// build still runs, so that others know what a killed build has left.
#pragma once

#include <string>

#include "base/result.h"

namespace torchport::runtime_build {

class Workplace {
 public:
  // Makes `parent` and a folder in it. Fails with kIo.
  [[nodiscard]] static base::Result<Workplace> make(const std::string& parent);
  Workplace(Workplace&& other) noexcept;
  Workplace& operator=(Workplace&&) = delete;
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

  // Deletes what builds that do not run any more have left in `parent`. Returns the bytes.
  static std::uint64_t remove_left(const std::string& parent);

 private:
  Workplace(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_ = -1;
};

// Deletes a folder and everything in it. Compilers that are just being ended may still write there,
// so it is tried for some seconds.
void remove_folder(const std::string& path);
// The sizes of the files in a folder, in bytes.
[[nodiscard]] std::uint64_t size_of_folder(const std::string& path);

}  // namespace torchport::runtime_build
