// What the files of a run say together about its findings. It is kept in the cache, because joining
// the facts of all files is most of the work of a run in which nothing has changed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace torchport::project {

struct Verdicts {
  // Of all findings, in the order of the files.
  std::vector<bool> is_void;
  // By the position of a finding: which of what may lower its fix does.
  std::map<std::size_t, std::vector<std::size_t>> lowered;
  std::vector<std::string> kernel_folders;
  std::vector<std::string> kernel_tests;
};

// Verdicts as bytes, and back; false for bytes that pack_verdicts() did not write.
[[nodiscard]] std::string pack_verdicts(const Verdicts& verdicts);
[[nodiscard]] bool unpack_verdicts(std::string_view packed, Verdicts& verdicts);

}  // namespace torchport::project
