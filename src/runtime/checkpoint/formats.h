// One function a format; each fills what it can tell and says what is broken.
#pragma once

#include <string>
#include <string_view>

#include "runtime/checkpoint/archive.h"
#include "runtime/checkpoint/contents.h"

namespace torchport::checkpoint {

// A file's bytes, mapped and not read; empty for an empty file.
class MappedFile {
 public:
  [[nodiscard]] static base::Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  MappedFile() = default;
  std::string_view bytes_;
};

// torch.save since 1.6, torch.jit.save, torch.export.save.
[[nodiscard]] base::Result<Contents> inspect_archive(const std::string& path,
                                                     std::string_view bytes);
[[nodiscard]] base::Result<Contents> inspect_export(const Archive& archive,
                                                    const std::string& root);
// torch.save before 1.6, or with _use_new_zipfile_serialization=False; a bare pickle.
[[nodiscard]] base::Result<Contents> inspect_legacy(std::string_view bytes);
// A folder of shards, or its index; a folder of torch.distributed.checkpoint.
[[nodiscard]] base::Result<Contents> inspect_folder(const std::string& path);
[[nodiscard]] bool is_safetensors(std::string_view bytes);
[[nodiscard]] base::Result<Contents> inspect_safetensors(std::string_view bytes);

}  // namespace torchport::checkpoint
