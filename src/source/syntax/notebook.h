// A Jupyter notebook (nbformat 3 and 4) as one Python program and back.
//
// The code cells are joined, each after a marker comment; IPython's own lines
// (%magic, !shell, help?) become comments. A changed program goes back into
// the JSON by its markers: cells that did not change keep their bytes, and in
// changed ones every unchanged line does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace torchport::syntax {

class Notebook {
 public:
  // Fails with kSyntax when the text is no JSON or no notebook. A notebook in
  // another language than Python has an empty program.
  [[nodiscard]] static base::Result<Notebook> parse(std::string json);

  [[nodiscard]] const std::string& json() const { return json_; }
  [[nodiscard]] const std::string& program() const { return program_; }
  // Where a byte of the program stands in the JSON text. Markers and IPython
  // lines map to the start of what they stand for.
  [[nodiscard]] std::uint32_t json_offset(std::uint32_t program_offset) const;
  // The JSON with another program in it. Fails with kInternal when the markers
  // are not what parse() made.
  [[nodiscard]] base::Result<std::string> with_program(std::string_view program) const;

 private:
  struct Line {
    std::string text;  // decoded, with its "\n" when it has one
    base::Span raw;    // between the quotes
    std::uint32_t program_start = 0;
    std::uint32_t prefix = 0;  // bytes of the program's line that are ours (IPython lines)
  };
  struct Cell {
    base::Span value;  // the JSON value of "source"
    bool is_list = false;
    std::vector<Line> lines;
    std::string separator;  // between the items of a list
    bool skipped = false;   // %%bash and the like
  };

  void build_program();
  [[nodiscard]] std::string encode(const Cell& cell, std::string_view text) const;

  std::string json_;
  std::string program_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> in_program_;  // the cells of which the program is made
  bool ascii_ = true;                    // the JSON escapes everything above ASCII
  bool is_python_ = true;
};

}  // namespace torchport::syntax
