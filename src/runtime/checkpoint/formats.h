// Declares the readers of the checkpoint formats, one function per format.
//
// inspect() finds out the format and calls one of them. Each fills in what it can tell, and adds
// what is damaged to Contents::broken instead of failing, so that half a file is still described.
#pragma once

#include <string>
#include <string_view>

#include "runtime/checkpoint/archive.h"
#include "runtime/checkpoint/contents.h"

namespace torchport::checkpoint {

// Maps a file instead of reading it: checkpoints are larger than memory, and only headers are
// looked at. bytes() is empty for an empty file, and valid as long as this object lives.
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

// Archives of torch.save since 1.6, torch.jit.save and torch.export.save.
[[nodiscard]] base::Result<Contents> inspect_archive(const std::string& path,
                                                     std::string_view bytes);
[[nodiscard]] base::Result<Contents> inspect_export(const Archive& archive,
                                                    const std::string& root);
// Files of torch.save before 1.6 or with _use_new_zipfile_serialization=False, and bare pickles.
[[nodiscard]] base::Result<Contents> inspect_legacy(std::string_view bytes);
// A folder of safetensors shards or its index, and a folder of torch.distributed.checkpoint.
[[nodiscard]] base::Result<Contents> inspect_folder(const std::string& path);
[[nodiscard]] bool is_safetensors(std::string_view bytes);
[[nodiscard]] base::Result<Contents> inspect_safetensors(std::string_view bytes);

}  // namespace torchport::checkpoint
