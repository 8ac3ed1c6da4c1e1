#include "runtime/checkpoint/contents.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/formats.h"

namespace torchport::checkpoint {

base::Result<MappedFile> MappedFile::open(const std::string& path) {
  const auto refused = [&] { return base::fail(base::ErrorCode::kIo, std::strerror(errno), path); };
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return refused();
  struct stat status {};
  MappedFile mapped;
  if (fstat(file, &status) != 0) {
    ::close(file);
    return refused();
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(file);
    return base::fail(base::ErrorCode::kIo, "is not a regular file", path);
  }
  if (status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (address == MAP_FAILED) {
      ::close(file);
      return refused();
    }
    mapped.bytes_ = {static_cast<const char*>(address), size};
  }
  ::close(file);
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

std::uint64_t Contents::bytes() const {
  std::uint64_t sum = 0;
  for (const Storage& storage : storages) sum += storage.bytes;
  return sum;
}

std::string Contents::fault() const {
  if (!dangers.empty()) return dangers.front();
  return broken.empty() ? std::string() : broken.front();
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMost));
  std::string text = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

std::vector<std::string> Contents::devices() const {
  std::vector<std::string> names;
  for (const Storage& storage : storages) names.push_back(storage.device);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

base::Result<Contents> inspect(const std::string& path) {
  struct stat status {};
  if (path.ends_with(".index.json") ||
      (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)))
    return inspect_folder(path);
  const auto file = MappedFile::open(path);
  if (!file) return tl::unexpected<base::Error>(file.error());
  const std::string_view bytes = file->bytes();
  const auto with_path = [&](base::Result<Contents> result) {
    if (!result && result.error().path.empty()) result.error().path = path;
    return result;
  };
  if (bytes.empty()) return base::fail(base::ErrorCode::kEncoding, "is empty", path);
  if (bytes.starts_with("PK\x03\x04")) return with_path(inspect_archive(path, bytes));
  if (is_safetensors(bytes)) return with_path(inspect_safetensors(bytes));
  if (bytes.starts_with('\x80')) return with_path(inspect_legacy(bytes));
  if (bytes.starts_with("version https://git-lfs"))
    return base::fail(base::ErrorCode::kEncoding,
                      "is a Git LFS pointer, not the file: run `git lfs pull`", path);
  if (bytes.starts_with("<!DOCTYPE") || bytes.starts_with("<html") ||
      bytes.starts_with("<!doctype"))
    return base::fail(
        base::ErrorCode::kEncoding,
        "is a web page: the download returned an error page or a login page; download it again",
        path);
  return base::fail(
      base::ErrorCode::kEncoding,
      "is not a checkpoint that torchport can read (torch.save, TorchScript, torch.export, "
      "safetensors)",
      path);
}

}  // namespace torchport::checkpoint
