#include "source/syntax/python_lexer.h"

#include <cstring>

#include "source/syntax/python_words.h"

namespace torchport::syntax {

namespace {

// Whether a bracket may be closed after such a token.
bool may_end(Token token) {
  switch (token) {
    case Token::kName:
    case Token::kInteger:
    case Token::kFloat:
    case Token::kString:
    case Token::kTrue:
    case Token::kFalse:
    case Token::kNone:
    case Token::kEllipsis:
    case Token::kComma:
    case Token::kOpenParen:
    case Token::kOpenBrace:
    case Token::kCloseParen:
    case Token::kCloseBracket:
    case Token::kCloseBrace:
      return true;
    default:
      return false;
  }
}

}  // namespace

PythonLexer::PythonLexer(std::string_view text)
    : text_(text.data()), end_(text.data() + text.size()), at_(text.data()) {
  if (text.starts_with("\xEF\xBB\xBF")) at_ += 3;
}

void PythonLexer::comment(std::uint32_t columns) {
  const auto* stop =
      static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
  if (stop == nullptr) stop = end_;
  extras.push_back({Kind::kComment, offset(), static_cast<std::uint32_t>(stop - text_), columns});
  at_ = stop;
}

// A backslash at the end of a line. One before an empty line or a comment is left to the grammar.
bool PythonLexer::continuation() {
  const char* next = at_ + 1;
  if (*next == '\r') ++next;
  if (*next != '\n') return false;
  ++next;
  extras.push_back({Kind::kContinuation, offset(), static_cast<std::uint32_t>(next - text_), 0});
  while (class_of_byte(*next) == kBlank) ++next;
  at_ = next;
  return *next != '\n' && *next != '\r' && *next != '#' && next != end_;
}

void PythonLexer::next_line() {
  while (true) {
    Indentation width;
    std::uint32_t grammar_columns = 0;
    while (true) {
      if (*at_ == ' ') {
        ++width.columns;
        ++width.characters;
        ++grammar_columns;
      } else if (*at_ == '\t') {
        width.columns = (width.columns / 8 + 1) * 8;
        ++width.characters;
        grammar_columns += 8;
      } else if (*at_ == '\f') {
        width = {};
        grammar_columns = 0;
      } else {
        break;
      }
      ++at_;
    }
    if (*at_ == '\r' && at_[1] == '\n') ++at_;
    if (*at_ == '\n') {
      ++at_;
      continue;
    }
    if (*at_ == '#') {
      comment(grammar_columns);
      continue;
    }
    if (*at_ == '\\') return finish(Token::kBad, at_);
    const bool is_end = at_ == end_;
    indentation = is_end ? Indentation{} : width;
    next();
    // The grammar would not see the same blocks, or it counts beyond its 16 bits.
    if (!is_end && (grammar_columns != width.columns || grammar_columns > 60'000))
      token = Token::kBad;
    return;
  }
}

// The beginning of another line in brackets.
bool PythonLexer::line_in_brackets(Token before) {
  std::uint32_t columns = 0;
  for (; class_of_byte(*at_) == kBlank; ++at_)
    columns = *at_ == '\f' ? 0 : columns + (*at_ == '\t' ? 8 : 1);
  if (columns >= block_columns || *at_ == '\n' || *at_ == '\r' || *at_ == '"' || *at_ == '\'')
    return true;
  ++low_lines;
  return may_end(before);
}

void PythonLexer::next() {
  const Token before = token;
  while (true) {
    while (class_of_byte(*at_) == kBlank) ++at_;
    start = offset();
    const char c = *at_;
    switch (class_of_byte(c)) {
      case kLetter:
      case kWide:
        return name();
      case kDigit:
        return number();
      default:
        break;
    }
    if (c == '\r' && at_[1] == '\n') {
      ++at_;
      start = offset();
    }
    if (*at_ == '\n') {
      if (brackets_ == 0) return finish(Token::kNewline, at_ + 1);
      ++at_;
      if (!line_in_brackets(before)) return finish(Token::kBad, at_);
    } else if (c == '#') {
      comment(0);
    } else if (c == '\\') {
      if (!continuation()) return finish(Token::kBad, at_);
    } else {
      return mark();
    }
  }
}

void PythonLexer::name() {
  const char* stop = at_;
  while (true) {
    while ((class_of_byte(*stop) & (kLetter | kDigit)) != 0) ++stop;
    if (class_of_byte(*stop) != kWide) break;
    stop = after_letter(stop);
    if (stop == nullptr) return finish(Token::kBad, at_);
  }
  const auto length = static_cast<std::size_t>(stop - at_);
  if ((*stop == '"' || *stop == '\'') && is_string_prefix({at_, length})) return string(stop);
  finish(keyword_or_name({at_, length}), stop);
}

void PythonLexer::string(const char* quote) {
  // The grammar's scanner skips continuations before a string, so they are no nodes.
  while (!extras.empty() && extras.back().kind == Kind::kContinuation) extras.pop_back();
  finish(Token::kString, quote[1] == *quote && quote[2] == *quote ? quote + 3 : quote + 1);
}

void PythonLexer::prefixed_number(int base) {
  const char* c = at_ + 2;
  int digits = 0;
  const auto fits = [base](char digit) {
    if (base == 16) return is_digit(digit) || ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f');
    return digit >= '0' && digit < '0' + base;
  };
  while (true) {
    if (*c == '_') ++c;
    if (!fits(*c)) break;
    ++c;
    ++digits;
  }
  finish(digits > 0 && !continues_name(*c) && c[-1] != '_' ? Token::kInteger : Token::kBad, c);
}

void PythonLexer::number() {
  const char* c = at_;
  const char second = static_cast<char>(at_[0] == '0' ? at_[1] | 0x20 : 0);
  if (second == 'x') return prefixed_number(16);
  if (second == 'o') return prefixed_number(8);
  if (second == 'b') return prefixed_number(2);
  bool is_right = true;
  const auto digits = [&] {
    if (!is_digit(*c)) is_right = false;
    while (is_digit(*c) || (*c == '_' && is_digit(c[1]))) ++c;
  };
  bool is_float = false;
  bool is_zero = true;
  if (*c != '.') {
    digits();
    for (const char* digit = at_; digit < c; ++digit) is_zero &= *digit == '0' || *digit == '_';
  }
  if (*c == '.') {
    is_float = true;
    ++c;
    if (is_digit(*c)) digits();
  }
  if ((*c | 0x20) == 'e') {
    is_float = true;
    ++c;
    if (*c == '+' || *c == '-') ++c;
    digits();
  }
  const bool is_imaginary = (*c | 0x20) == 'j';
  if (is_imaginary) ++c;
  // Python refuses 012, and warns about a word that follows a number at once.
  if (!is_float && !is_imaginary && *at_ == '0' && !is_zero) is_right = false;
  if (!is_right || continues_name(*c)) return finish(Token::kBad, c);
  finish(is_float ? Token::kFloat : Token::kInteger, c);
}

void PythonLexer::mark() {
  const char* next = at_ + 1;
  switch (*at_) {
    case '(':
      ++brackets_;
      return finish(Token::kOpenParen, next);
    case '[':
      ++brackets_;
      return finish(Token::kOpenBracket, next);
    case '{':
      ++brackets_;
      return finish(Token::kOpenBrace, next);
    case ')':
      return close(Token::kCloseParen);
    case ']':
      return close(Token::kCloseBracket);
    case '}':
      return close(Token::kCloseBrace);
    case ',':
      return finish(Token::kComma, next);
    case ';':
      return finish(Token::kSemicolon, next);
    case '~':
      return finish(Token::kTilde, next);
    case '"':
    case '\'':
      return string(at_);
    case '.':
      if (is_digit(*next)) return number();
      if (next[0] == '.' && next[1] == '.') return finish(Token::kEllipsis, next + 2);
      return finish(Token::kDot, next);
    case ':':
      return *next == '=' ? finish(Token::kWalrus, next + 1) : finish(Token::kColon, next);
    case '\0':
      // The last line needs no end. Brackets must be closed.
      if (at_ != end_ || brackets_ != 0) return finish(Token::kBad, at_);
      return finish(Token::kEnd, at_);
    default:
      return wide_mark();
  }
}

// The operators that an equals sign may follow.
void PythonLexer::wide_mark() {
  const char c = *at_;
  const char second = at_[1];
  const auto either = [&](Token plain) {
    return second == '=' ? finish(Token::kAugmented, at_ + 2) : finish(plain, at_ + 1);
  };
  const auto doubled = [&](Token once, Token twice) {
    if (second != c) return either(once);
    return at_[2] == '=' ? finish(Token::kAugmented, at_ + 3) : finish(twice, at_ + 2);
  };
  switch (c) {
    case '=':
      return second == '=' ? finish(Token::kCompare, at_ + 2) : finish(Token::kEqual, at_ + 1);
    case '!':
      return second == '=' ? finish(Token::kCompare, at_ + 2)
                           : finish(Token::kExclamation, at_ + 1);
    case '<':
    case '>':
      if (second == c) return doubled(Token::kShift, Token::kShift);
      if (c == '<' && second == '>') return finish(Token::kBad, at_);
      return finish(Token::kCompare, second == '=' ? at_ + 2 : at_ + 1);
    case '*':
      return doubled(Token::kStar, Token::kDoubleStar);
    case '/':
      return doubled(Token::kSlash, Token::kDoubleSlash);
    case '-':
      if (second == '>') return finish(Token::kArrow, at_ + 2);
      return either(Token::kMinus);
    case '+':
      return either(Token::kPlus);
    case '%':
      return either(Token::kPercent);
    case '@':
      return either(Token::kAt);
    case '&':
      return either(Token::kAmpersand);
    case '^':
      return either(Token::kCaret);
    case '|':
      return either(Token::kBar);
    default:
      return finish(Token::kBad, at_);
  }
}

bool PythonLexer::bracket_follows() const {
  const char* c = at_;
  while (true) {
    while (class_of_byte(*c) == kBlank || *c == '\r') ++c;
    if (*c == '[') return true;
    if (*c == '\n' && brackets_ > 0) {
      ++c;
    } else if (*c == '#' && brackets_ > 0) {
      while (*c != '\n' && c != end_) ++c;
    } else if (*c == '\\' && (c[1] == '\n' || (c[1] == '\r' && c[2] == '\n'))) {
      c += 2;
    } else {
      return false;
    }
  }
}

}  // namespace torchport::syntax
