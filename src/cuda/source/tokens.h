// Tokens of preprocessed C++ and CUDA C++, with the line of the user's file.
//
// The text comes from a preprocessor: comments are gone, macros are expanded, and line markers
// (`# 12 "file.cu" 2`) say where the following lines come from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torchport::cuda {

enum class TokenKind : std::uint8_t {
  kName,    // identifiers and keywords
  kNumber,  // with its suffixes
  kText,    // string and character literals, raw ones too
  kMark,    // one character of punctuation
  kLine,    // a line marker or a #pragma, with its end of line
};

struct Token {
  TokenKind kind = TokenKind::kMark;
  std::uint32_t begin = 0;  // bytes
  std::uint32_t end = 0;
  // For ( [ { and their counterparts: the token that closes or opens. Its own number: there is
  // none.
  std::uint32_t partner = 0;
};

// The tokens of a text of at most 4 GiB. Any bytes are accepted: what is not a token is a mark.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view text);

struct SourceLine {
  std::string file;
  std::uint32_t line = 0;
};
// Where the byte `at` of a preprocessed text comes from, by the last line marker before it.
[[nodiscard]] SourceLine line_of(std::string_view text, std::size_t at);

}  // namespace torchport::cuda
