#include "runtime/place/file_bytes.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace torchport {

FileBytes::FileBytes(const std::string& path) {
  const auto refuse = [&] {
    throw std::runtime_error("torchport: " + path + ": " + std::strerror(errno));
  };
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) refuse();
  struct stat status {};
  void* address = MAP_FAILED;
  if (fstat(file, &status) == 0 && !S_ISREG(status.st_mode)) {
    ::close(file);
    throw std::runtime_error("torchport: " + path + ": is not a regular file");
  }
  if (status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    address = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  }
  const int error = errno;
  ::close(file);
  errno = error;
  if (address == MAP_FAILED) refuse();
  data_ = static_cast<char*>(address);
}

FileBytes::~FileBytes() {
  munmap(data_, size_);
}

at::Tensor FileBytes::tensor(const std::shared_ptr<FileBytes>& file, std::size_t offset,
                             std::size_t size) {
  if (offset > file->size_ || size > file->size_ - offset)
    throw std::runtime_error("torchport: a storage is outside of its file");
  return at::from_blob(
      file->data_ + offset, {static_cast<std::int64_t>(size)}, [file](void*) {},
      at::TensorOptions().dtype(at::kByte));
}

void FileBytes::release(std::size_t offset, std::size_t size) const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = (offset + page - 1) / page * page;
  const std::size_t end = (offset + size) / page * page;
  if (begin < end) madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

}  // namespace torchport
