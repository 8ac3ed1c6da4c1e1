// A file's bytes under tensors.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace torchport {

// Mapped privately: what is written into the tensors over it stays in this process.
class FileBytes {
 public:
  // Throws std::runtime_error where the file cannot be mapped.
  explicit FileBytes(const std::string& path);
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }

  // A 1-dimensional uint8 tensor over [offset, offset + size), which keeps the mapping alive.
  [[nodiscard]] static at::Tensor tensor(const std::shared_ptr<FileBytes>& file, std::size_t offset,
                                         std::size_t size);
  // Pages of [offset, offset + size) that were only read need not stay in this process.
  void release(std::size_t offset, std::size_t size) const;

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace torchport
