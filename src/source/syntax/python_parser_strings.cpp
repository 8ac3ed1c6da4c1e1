// String literals: their contents, escapes and fields. The parts are those that the grammar's
// scanner makes, also where they are odd.
#include "source/syntax/python_parser.h"

namespace torchport::syntax {

struct PythonParser::StringStyle {
  char quote = '"';
  bool is_triple = false;
  bool is_raw = false;
  bool is_bytes = false;
  bool has_fields = false;

  [[nodiscard]] bool ends_at(const char* c) const {
    return *c == quote && (!is_triple || (c[1] == quote && c[2] == quote));
  }
  [[nodiscard]] std::uint32_t quotes() const { return is_triple ? 3 : 1; }
};

namespace {

bool is_hex(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'f');
}

// The length of the escape sequence at the backslash `c`; 0 if the grammar sees none.
std::uint32_t escape_length(const char* c) {
  const auto hex = [&](std::uint32_t digits) -> std::uint32_t {
    for (std::uint32_t i = 0; i < digits; ++i)
      if (!is_hex(c[2 + i])) return 0;
    return 2 + digits;
  };
  switch (c[1]) {
    case 'u':
      return hex(4);
    case 'U':
      return hex(8);
    case 'x':
      return hex(2);
    case '\r':
      return c[2] == '\n' ? 3 : 0;
    case '\n':
    case '\'':
    case '"':
    case 'a':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
    case 'v':
    case '\\':
      return 2;
    case 'N': {
      if (c[2] != '{' || c[3] == '}') return 0;
      std::uint32_t length = 3;
      while (c[length] != '}' && c[length] != '\0') ++length;
      return c[length] == '}' ? length + 1 : 0;
    }
    default:
      break;
  }
  std::uint32_t digits = 0;
  while (digits < 3 && c[1 + digits] >= '0' && c[1 + digits] <= '9') ++digits;
  return digits == 0 ? 0 : 1 + digits;
}

}  // namespace

// One string, or several that stand side by side.
bool PythonParser::strings() {
  const Mark mark = begin();
  if (!string()) return false;
  if (!at(Token::kString)) return true;
  while (at(Token::kString))
    if (!string()) return false;
  close(mark, Kind::kConcatenatedString);
  return true;
}

bool PythonParser::string() {
  const Mark mark = begin();
  StringStyle style;
  const char* text = lexer_.text();
  style.quote = text[lexer_.end - 1];
  const char* prefix = text + lexer_.start;
  for (; *prefix != style.quote; ++prefix) {
    const char letter = static_cast<char>(*prefix | 0x20);
    style.is_raw |= letter == 'r';
    style.is_bytes |= letter == 'b';
    style.has_fields |= letter == 'f' || letter == 't';
  }
  std::uint32_t place = lexer_.end;
  style.is_triple = text + place - prefix == 3;
  add_leaf(Kind::kStringStart, Field::kNone, lexer_.start, place);
  while (true) {
    const std::uint32_t before = place;
    const std::uint32_t first = count();
    if (!string_content(style, place)) return false;
    // A raw string's end may have backslashes before its quotes.
    std::uint32_t end = place;
    if (style.is_raw && !(text[place] == '{' && style.has_fields)) {
      place = raw_start_;
    }
    if (place > before)
      records_.push_back(
          {Kind::kStringContent, Field::kNone, before, place, 0, count() - first + 1});
    if (text[end] == '{' && style.has_fields) {
      if (!interpolation(style, place, Kind::kInterpolation)) return false;
      continue;
    }
    end += style.quotes();
    add_leaf(Kind::kStringEnd, Field::kNone, place, end);
    last_end_ = end;
    break;
  }
  lexer_.go_to(last_end_);
  close(mark, Kind::kString);
  lexer_.next();
  return true;
}

// Where the scanner's token began, and whether it holds more than backslashes and what they escape.
// It matters in raw strings, whose last token may be only such.
struct PythonParser::StringScan {
  const char* at = nullptr;
  const char* token = nullptr;
  bool has_content = false;

  void begin_token() {
    token = at;
    has_content = false;
  }
};

// Reads to a field or to the closing quotes.
bool PythonParser::string_content(const StringStyle& style, std::uint32_t& place) {
  const char* text = lexer_.text();
  StringScan scan{text + place, text + place};
  while (!style.ends_at(scan.at)) {
    const char c = *scan.at;
    if (c == style.quote) {
      scan.at += scan.at[1] == style.quote ? 2 : 1;
      scan.begin_token();
    } else if (c == '\\') {
      if (!string_backslash(style, scan)) return false;
    } else if (style.has_fields && (c == '{' || c == '}')) {
      bool is_field = false;
      if (!string_brace(style, scan, is_field)) return false;
      if (!is_field) continue;
      place = static_cast<std::uint32_t>(scan.at - text);
      return true;
    } else if (c == '\0' || (c == '\n' && !style.is_triple)) {
      return false;
    } else {
      ++scan.at;
      scan.has_content = true;
    }
  }
  place = static_cast<std::uint32_t>(scan.at - text);
  raw_start_ = scan.has_content ? place : static_cast<std::uint32_t>(scan.token - text);
  return true;
}

bool PythonParser::string_backslash(const StringStyle& style, StringScan& scan) {
  if (!style.is_raw) {
    auto here = static_cast<std::uint32_t>(scan.at - lexer_.text());
    if (!escape(style, here)) return false;
    scan.at = lexer_.text() + here;
    return true;
  }
  ++scan.at;
  const bool is_pair = *scan.at == '\\';
  if (is_pair || *scan.at == style.quote) ++scan.at;
  if (*scan.at == '\r') ++scan.at;
  if (*scan.at != '\n') return true;
  ++scan.at;
  return !is_pair || style.is_triple;
}

bool PythonParser::string_brace(const StringStyle& style, StringScan& scan, bool& is_field) {
  const char* text = lexer_.text();
  if (style.is_raw && !scan.has_content && scan.token < scan.at) {
    // The scanner finds no token here, so the backslashes are read as in other strings.
    auto here = static_cast<std::uint32_t>(scan.token - text);
    if (!escape(style, here)) return false;
    scan.at = text + here;
    scan.begin_token();
    return true;
  }
  is_field = scan.at[1] != *scan.at;
  if (is_field) return *scan.at == '{';
  const auto here = static_cast<std::uint32_t>(scan.at - text);
  add_leaf(Kind::kOther, Field::kNone, here, here + 2);
  scan.at += 2;
  scan.begin_token();
  return true;
}

bool PythonParser::escape(const StringStyle& style, std::uint32_t& place) {
  const char* c = lexer_.text() + place;
  if (style.is_bytes && !style.is_raw && (c[1] == 'N' || c[1] == 'u' || c[1] == 'U')) {
    // The scanner also steps over the character after the letter.
    if (c[2] == style.quote || c[2] == '\\' || c[2] == '\n' || c[2] == '\0') return false;
    place += 3;
    return true;
  }
  const std::uint32_t length = escape_length(c);
  if (length == 0) {
    // A name of a character that has no end.
    if (c[1] == 'N' && c[2] == '{') return false;
    ++place;
    return true;
  }
  if (c[1] == 'N') {
    for (std::uint32_t i = 3; i < length; ++i)
      if (c[i] == style.quote || c[i] == '\n' || c[i] == '\\') return false;
  }
  add_leaf(Kind::kEscapeSequence, Field::kNone, place, place + length);
  place += length;
  return true;
}

// Reads a field from its opening brace to behind its closing one.
bool PythonParser::interpolation(const StringStyle& style, std::uint32_t& place, Kind kind) {
  const Level level(*this);
  if (!level.is_fine()) return false;
  const Mark mark{count(), place};
  const std::uint32_t brackets = lexer_.brackets();
  const std::uint32_t low_lines = lexer_.low_lines;
  lexer_.set_brackets(brackets + 1);
  lexer_.go_to(place + 1);
  ++fields_;
  lexer_.next();
  if (at(Token::kLambda) || at(Token::kCloseBrace)) return false;
  if (at(Token::kYield) ? !yield() : !expression_list()) return false;
  set_field(Field::kExpression);
  take(Token::kEqual);
  if (at(Token::kExclamation)) {
    const char* letter = lexer_.text() + lexer_.end;
    if (*letter < 'a' || *letter > 'z') return false;
    begin();
    add_leaf(Kind::kOther, Field::kNone, lexer_.start, lexer_.end + 1);
    lexer_.go_to(lexer_.end + 1);
    lexer_.next();
  }
  std::uint32_t end = lexer_.end;
  if (at(Token::kColon)) {
    begin();
    end = lexer_.start;
    if (!format(style, end)) return false;
    ++end;
  } else if (!at(Token::kCloseBrace)) {
    return false;
  } else {
    begin();
  }
  if (lexer_.low_lines != low_lines) return false;
  --fields_;
  lexer_.set_brackets(brackets);
  last_end_ = end;
  close(mark, kind);
  place = end;
  return true;
}

// Reads a format from its colon to the closing brace of its field.
bool PythonParser::format(const StringStyle& style, std::uint32_t& place) {
  const Mark mark{count(), place};
  const char* text = lexer_.text();
  ++place;
  while (text[place] != '}') {
    if (text[place] == '{') {
      if (!interpolation(style, place, Kind::kOther)) return false;
    } else if (text[place] == '\n' || text[place] == '\0' || text[place] == '\\' ||
               text[place] == style.quote) {
      return false;
    } else {
      ++place;
    }
  }
  last_end_ = place;
  close(mark, Kind::kOther);
  return true;
}

}  // namespace torchport::syntax
