// Maps a file so that tensors can lie over its bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace torchport {

// The mapping is private: what is written to a tensor over it stays in this process, and the file
// is never changed. Tensors share ownership, so a mapping lives as long as any tensor over it.
class FileBytes {
 public:
  // Throws std::runtime_error if the file cannot be mapped.
  explicit FileBytes(const std::string& path);
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }

  // A 1-dimensional uint8 tensor over the bytes [offset, offset + size). It keeps the mapping
  // alive.
  [[nodiscard]] static at::Tensor tensor(const std::shared_ptr<FileBytes>& file, std::size_t offset,
                                         std::size_t size);
  // Tells the system that this process no longer needs the pages of [offset, offset + size). Pages
  // that were written to must not be in the range.
  void release(std::size_t offset, std::size_t size) const;

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace torchport
