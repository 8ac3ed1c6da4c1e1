// Tells IPython's own lines (%magic, !shell, help?, bare `pip install`) from Python's in a code
// cell.
#pragma once

#include <string_view>

namespace torchport::syntax {

// Follows the text of one cell, so that only the start of a logical line can be IPython's: `% 3` in
// open brackets is a remainder, and `!no` in a string is text.
class CellText {
 public:
  // Takes text of the cell that Python sees, in order.
  void add(std::string_view python);
  // Whether a logical line may start here.
  [[nodiscard]] bool between_lines() const {
    return depth_ <= 0 && quote_ == '\0' && !continued_ && !comment_;
  }

 private:
  int depth_ = 0;
  char quote_ = '\0';  // of the string that is open
  bool triple_ = false;
  bool comment_ = false;
  bool continued_ = false;  // the line ended with a backslash
};

// Whether IPython handles a line, which starts a logical line, before Python sees it.
[[nodiscard]] bool is_ipython(std::string_view line);

// Whether a cell with this first line that is not blank is in another language (%%bash, %%html), or
// a file. %%time and the like measure Python.
[[nodiscard]] bool is_other_language(std::string_view first_line);

}  // namespace torchport::syntax
