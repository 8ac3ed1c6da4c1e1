// A Dockerfile as instructions. Continued lines belong to the instruction that
// they continue; comments between them are left out, as Docker does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace torchport::rules {

struct DockerLine {
  std::string_view text;     // without the keyword, the comment and the line end
  std::uint32_t offset = 0;  // of the text in the file
};

struct DockerInstruction {
  std::string keyword;      // upper case
  std::uint32_t start = 0;  // of the line that it begins on
  std::vector<DockerLine> lines;
};

[[nodiscard]] std::vector<DockerInstruction> docker_instructions(const base::LineIndex& lines);

}  // namespace torchport::rules
