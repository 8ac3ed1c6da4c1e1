// What the files of a run say together about its findings. It is kept in the cache, because joining
// the facts of all files is most of the work of a run in which nothing has changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchport::project {

struct Verdicts {
  std::vector<bool> is_void;  // of all findings, in the order of the files
  bool visible_late = false;  // a function of some file sets CUDA_VISIBLE_DEVICES
  std::vector<std::string> kernel_folders;
  std::vector<std::string> kernel_tests;
};

// Verdicts as bytes, and back; false for bytes that pack_verdicts() did not write.
[[nodiscard]] std::string pack_verdicts(const Verdicts& verdicts);
[[nodiscard]] bool unpack_verdicts(std::string_view packed, Verdicts& verdicts);

}  // namespace torchport::project
