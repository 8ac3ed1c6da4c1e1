// Turns a Jupyter notebook (nbformat 3 and 4) into one Python program, and a changed program back
// into the notebook.
//
// The code cells are joined, each after a marker comment, because names of one cell are used in the
// next. IPython's own lines (%magic, !shell, help?) become comments, or `pass` with one in a block.
// The markers split a changed program into its cells again. Cells that did not change keep their
// bytes, and so does every unchanged line of a changed cell: rewriting the JSON would show up as a
// diff of the whole notebook.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace torchport::syntax {

class Notebook {
 public:
  // Fails with kSyntax if the text is not JSON or not a notebook. A notebook in another language
  // than Python has an empty program.
  [[nodiscard]] static base::Result<Notebook> parse(std::string json);

  [[nodiscard]] const std::string& json() const { return json_; }
  [[nodiscard]] const std::string& program() const { return program_; }
  // The offset in the JSON text of a byte of the program. Markers and IPython lines map to the
  // start of what they represent.
  [[nodiscard]] std::uint32_t json_offset(std::uint32_t program_offset) const;
  // The code cells' texts, decoded; those in other languages too.
  [[nodiscard]] std::vector<std::string> cell_texts() const;
  // Where a byte of the program is in the code cells: the index of the cell, and the offset in its
  // text. The start of the first cell if the program is empty.
  struct CellOffset {
    std::size_t cell = 0;
    std::uint32_t offset = 0;
  };
  [[nodiscard]] CellOffset cell_offset(std::uint32_t program_offset) const;
  // The byte of the program that a byte of a cell's text became; none for a cell that is not in the
  // program.
  [[nodiscard]] std::optional<std::uint32_t> program_offset(CellOffset place) const;
  // The JSON with another program in it. Fails with kInternal if the markers differ from those of
  // parse().
  [[nodiscard]] base::Result<std::string> with_program(std::string_view program) const;

 private:
  struct Line {
    std::string text;  // decoded, with its "\n" if it has one
    base::Span raw;    // between the quotes
    std::uint32_t program_start = 0;
    std::uint32_t prefix = 0;  // number of bytes of the line that parse() added (IPython lines)
  };
  struct Cell {
    base::Span value;  // the JSON value of "source"
    bool is_list = false;
    std::vector<Line> lines;
    std::string separator;  // between the items of a list
    bool skipped = false;   // begins with %%bash or the like
  };

  void build_program();
  void add_cell(Cell& cell);
  [[nodiscard]] std::string encode(const Cell& cell, std::string_view text) const;

  std::string json_;
  std::string program_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> in_program_;  // indices of the cells that form the program
  bool ascii_ = true;                    // the JSON escapes all characters above ASCII
  bool is_python_ = true;
};

}  // namespace torchport::syntax
