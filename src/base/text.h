// Handles text and positions in it: byte offsets inside the program, one-based lines and columns
// outside. Functions on text are thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace torchport::base {

// A half-open range of byte offsets.
struct Span {
  std::uint32_t start = 0;
  std::uint32_t end = 0;

  [[nodiscard]] bool operator==(const Span&) const = default;
  [[nodiscard]] std::uint32_t size() const { return end - start; }
};

// One-based. The column counts UTF-8 code points (bytes that are not continuation bytes), as
// editors do.
struct LineColumn {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

// Finds lines in a text whose lines end with LF, CRLF or CR. It keeps a view: the text must outlive
// it.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);

  [[nodiscard]] LineColumn at(std::uint32_t offset) const;
  // The line without its line end. `line` is one-based and clamped to the last.
  [[nodiscard]] std::string_view line(std::uint32_t line) const;
  [[nodiscard]] std::uint32_t line_start(std::uint32_t line) const;
  [[nodiscard]] std::uint32_t line_count() const {
    return static_cast<std::uint32_t>(starts_.size());
  }
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  // The number of UTF-8 continuation bytes before `offset`.
  [[nodiscard]] std::uint32_t continuations(std::uint32_t offset) const;

  std::string_view text_;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t>
      continuations_;  // before each block of kBlock bytes, so that columns in long lines are cheap
};

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
// The number of UTF-8 code points.
[[nodiscard]] std::size_t columns(std::string_view text);
[[nodiscard]] bool contains_word(std::string_view text, std::string_view word);
// Finds a text in a hashed set of strings without a copy of it.
struct TextHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
  [[nodiscard]] std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

// The bytes of the character at `at` if it controls what is shown instead of being shown, otherwise
// 0: control characters of ASCII but for line breaks and tabs, those of Latin-1 (U+0080 to U+009F),
// marks and overrides of direction, and breaks of lines and paragraphs.
[[nodiscard]] std::size_t control_at(std::string_view text, std::size_t at);

[[nodiscard]] bool one_of(std::span<const std::string_view> words, std::string_view word);
[[nodiscard]] std::string lower(std::string_view text);
[[nodiscard]] bool is_identifier_char(char c);
// Levenshtein distance, for "did you mean".
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace torchport::base
