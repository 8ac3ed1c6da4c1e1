// The lines in which `torchport top` and `torchport infer --watch` show a device, and the drawing
// that replaces itself on a terminal.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "host/usage/usage.h"

namespace torchport::host {

// "cuda:0   busy  93 % [###################.]  memory 12.30 GiB of 79.25 GiB"
[[nodiscard]] std::string usage_line(const std::string& name, const Usage& usage);

// Lines on a stream. On a terminal each drawing takes the place of the last one.
class Drawing {
 public:
  explicit Drawing(std::FILE* to);
  void draw(const std::vector<std::string>& lines);
  [[nodiscard]] bool replaces() const { return terminal_; }

 private:
  std::FILE* to_;
  bool terminal_;
  std::size_t drawn_ = 0;  // number of lines of the last drawing
};

}  // namespace torchport::host
