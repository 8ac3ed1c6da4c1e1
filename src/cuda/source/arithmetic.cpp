#include "cuda/source/arithmetic.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cuda/source/casts.h"
#include "cuda/source/code.h"
#include "cuda/source/device_bodies.h"
#include "cuda/source/shifts.h"

namespace torchport::cuda {

namespace {

class Arithmetic : CodePart {
 public:
  explicit Arithmetic(Code& code) : CodePart(code), bodies_(code), shifts_(code), casts_(code) {}

  std::string run() {
    std::size_t begin = 0;  // of the body that is next, or that the tokens are in
    std::size_t end = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == TokenKind::kLine) {
        is_of_toolkit_ = is_toolkit_line(word(i));
      } else if (is(i, kDeviceMark)) {
        drop(i);
        const auto body = bodies_.behind(i);
        if (!body || is_of_toolkit_) continue;
        if (i > end) begin = body->begin;
        end = std::max(end, body->end);
      } else if (i > begin && i < end && !is_of_toolkit_) {
        i = token(i);
      }
    }
    return edits_.applied();
  }

 private:
  // The last token that was looked at.
  std::size_t token(std::size_t i) {
    const bool is_shift = (is(i, "<") && is(i + 1, "<")) || (is(i, ">") && is(i + 1, ">"));
    if (is_shift && joined(i, 2)) return shifts_.shift(i) - 1;
    if (is(i, "("))
      casts_.in_parentheses(i);
    else if (is(i, "static_cast"))
      casts_.static_cast_at(i);
    else if (is_name(i))
      casts_.type_at(i);
    return i;
  }

  [[nodiscard]] bool is_toolkit_line(std::string_view line) const {
    const std::size_t quote = line.find('"');
    if (quote == std::string_view::npos || line.find("pragma") != std::string_view::npos)
      return is_of_toolkit_;
    const std::string_view file = line.substr(quote + 1);
    return std::any_of(options_.toolkit_folders.begin(), options_.toolkit_folders.end(),
                       [&](const std::string& folder) { return file.starts_with(folder); });
  }

  DeviceBodies bodies_;
  Shifts shifts_;
  Casts casts_;
  bool is_of_toolkit_ = false;
};

}  // namespace

std::string with_defined_arithmetic(std::string text, const RewriteOptions& options) {
  if (text.find(kDeviceMark) == std::string::npos) return text;
  Code code(text, options);
  return Arithmetic(code).run();
}

}  // namespace torchport::cuda
