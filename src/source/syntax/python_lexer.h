// Cuts Python 3 into tokens, for the parser beside it.
//
// It is strict, because nothing is lost when it refuses: a text that it does not take goes to
// tree-sitter. It takes the indentation, the logical lines and the numbers that CPython takes, so
// that a tree which was made from its tokens needs no second look at its lines. It allocates
// nothing for a token.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "source/syntax/kind.h"

namespace torchport::syntax {

enum class Token : std::uint8_t {
  kBad,
  kEnd,
  kNewline,
  kName,
  kInteger,
  kFloat,
  kString,  // the prefix and the quotes; the parser reads the rest
  kOpenParen,
  kCloseParen,
  kOpenBracket,
  kCloseBracket,
  kOpenBrace,
  kCloseBrace,
  kComma,
  kColon,
  kSemicolon,
  kDot,
  kEllipsis,
  kArrow,
  kWalrus,
  kEqual,
  kAugmented,
  kExclamation,
  kTilde,
  // Operators.
  kStar,
  kSlash,
  kDoubleSlash,
  kPercent,
  kAt,
  kPlus,
  kMinus,
  kShift,
  kAmpersand,
  kCaret,
  kBar,
  kDoubleStar,
  kCompare,
  // Keywords.
  kFalse,
  kNone,
  kTrue,
  kAnd,
  kAs,
  kAssert,
  kAsync,
  kAwait,
  kBreak,
  kClass,
  kContinue,
  kDef,
  kDel,
  kElif,
  kElse,
  kExcept,
  kFinally,
  kFor,
  kFrom,
  kGlobal,
  kIf,
  kImport,
  kIn,
  kIs,
  kLambda,
  kNonlocal,
  kNot,
  kOr,
  kPass,
  kRaise,
  kReturn,
  kTry,
  kWhile,
  kWith,
  kYield,
  kCount
};

// How far a line is indented. CPython counts a tab up to the next multiple of eight and, to find
// inconsistent lines, also as one column; the grammar of tree-sitter adds eight.
struct Indentation {
  std::uint32_t columns = 0;
  std::uint32_t characters = 0;
};

// A comment or a line continuation. They may stand anywhere, so the parser decides what holds them.
struct Extra {
  Kind kind = Kind::kComment;
  std::uint32_t start = 0;
  std::uint32_t end = 0;
  std::uint32_t columns = 0;  // the indentation of a comment that has its own line
};

class PythonLexer {
 public:
  // `text` is a parser_view(): UTF-8 with a NUL byte behind its end, without lone carriage returns.
  explicit PythonLexer(std::string_view text);

  // The token that was read last, and the place behind it.
  Token token = Token::kBad;
  std::uint32_t start = 0;
  std::uint32_t end = 0;
  // The extras before the token that the parser has not placed yet.
  std::vector<Extra> extras;
  // The indentation of the line that the last next_line() came to.
  Indentation indentation;

  // How far the block is indented that the token is in. In brackets, the grammar's scanner takes
  // the beginning of a line that is indented less for the end of the block, unless the brackets
  // might be closed there. Such a line is refused if the token before it says that they may not,
  // and counted otherwise.
  std::uint32_t block_columns = 0;
  std::uint32_t low_lines = 0;

  // Reads the next token of the line, or of the brackets.
  void next();
  // Goes to the next line that is neither empty nor a comment, and reads its first token.
  void next_line();
  // Goes on at another place in the text: behind a string, or in a field of one.
  void go_to(std::uint32_t offset) { at_ = text_ + offset; }

  // How many brackets are open. Lines end only outside of them.
  [[nodiscard]] std::uint32_t brackets() const { return brackets_; }
  void set_brackets(std::uint32_t count) { brackets_ = count; }

  // Whether the next token is an opening bracket.
  [[nodiscard]] bool bracket_follows() const;
  [[nodiscard]] const char* text() const { return text_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(end_ - text_); }
  [[nodiscard]] std::string_view word() const { return {text_ + start, end - start}; }

 private:
  void finish(Token kind, const char* stop) {
    token = kind;
    at_ = stop;
    end = static_cast<std::uint32_t>(stop - text_);
  }
  void close(Token kind) {
    if (brackets_ == 0) return finish(Token::kBad, at_);
    --brackets_;
    finish(kind, at_ + 1);
  }
  void comment(std::uint32_t columns);
  bool line_in_brackets(Token before);
  bool continuation();
  void name();
  void string(const char* quote);
  void number();
  void mark();
  void wide_mark();
  void prefixed_number(int base);
  [[nodiscard]] std::uint32_t offset() const { return static_cast<std::uint32_t>(at_ - text_); }

  const char* text_;
  const char* end_;
  const char* at_;
  std::uint32_t brackets_ = 0;
};

}  // namespace torchport::syntax
