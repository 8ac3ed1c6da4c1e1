// Splits a Dockerfile into instructions. Continued lines belong to the instruction that they
// continue. Comments between them are dropped, as Docker does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace torchport::rules {

struct DockerLine {
  std::string_view text;     // without keyword, comment and line end
  std::uint32_t offset = 0;  // offset of the text in the file
};

struct DockerInstruction {
  std::string keyword;      // upper case
  std::uint32_t start = 0;  // offset of the line on which it begins
  std::vector<DockerLine> lines;
};

[[nodiscard]] std::vector<DockerInstruction> docker_instructions(const base::LineIndex& lines);

}  // namespace torchport::rules
