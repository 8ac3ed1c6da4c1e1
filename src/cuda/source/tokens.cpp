#include "cuda/source/tokens.h"

#include <algorithm>
#include <charconv>

namespace torchport::cuda {

namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80U;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) { tokens_.reserve(text.size() / 4); }

  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void add(TokenKind kind, std::size_t begin) {
    const auto number = static_cast<std::uint32_t>(tokens_.size());
    tokens_.push_back(
        {kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_), number});
  }

  void step() {
    const char c = text_[at_];
    const std::size_t begin = at_;
    if (c == '\n') {
      line_begins_ = true;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
      ++at_;
    } else if (c == '#' && line_begins_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      add(TokenKind::kLine, begin);
    } else {
      line_begins_ = false;
      token(c, begin);
    }
  }

  void token(char c, std::size_t begin) {
    if (begins_name(c)) {
      while (at_ < text_.size() && (begins_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
      literal_or_name(begin);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
      add(TokenKind::kNumber, begin);
    } else if (c == '"' || c == '\'') {
      quoted(c);
      add(TokenKind::kText, begin);
    } else {
      ++at_;
      mark(c, begin);
    }
  }

  // L"...", u8R"(...)": a prefix belongs to its literal.
  void literal_or_name(std::size_t begin) {
    const std::string_view name = text_.substr(begin, at_ - begin);
    const char next = peek();
    const bool raw = next == '"' && name.ends_with('R') && name.size() <= 3;
    const bool prefix = (next == '"' || next == '\'') &&
                        (name == "L" || name == "u" || name == "U" || name == "u8");
    if (raw) {
      raw_text();
      add(TokenKind::kText, begin);
    } else if (prefix) {
      quoted(next);
      add(TokenKind::kText, begin);
    } else {
      add(TokenKind::kName, begin);
    }
  }

  void raw_text() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) {
      at_ = text_.size();
      return;
    }
    std::string end(1, ')');
    end += text_.substr(at_ + 1, open - at_ - 1);
    end += '"';
    const std::size_t close = text_.find(end, open);
    at_ = close == std::string_view::npos ? text_.size() : close + end.size();
  }

  // An unclosed literal ends with its line.
  void quoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == quote) {
        ++at_;
        return;
      }
    }
    at_ = std::min(at_, text_.size());
  }

  void number() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent = (c == '+' || c == '-') && at_ > 0 &&
                            std::string_view("eEpP").find(text_[at_ - 1]) != std::string_view::npos;
      const bool separator = c == '\'' && (begins_name(peek(1)) || is_digit(peek(1)));
      if (!begins_name(c) && !is_digit(c) && c != '.' && !exponent && !separator) return;
      ++at_;
    }
  }

  void mark(char c, std::size_t begin) {
    const auto number = static_cast<std::uint32_t>(tokens_.size());
    add(TokenKind::kMark, begin);
    if (c == '(' || c == '[' || c == '{') {
      open_.push_back(number);
      return;
    }
    const char opens = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '\0';
    if (opens == '\0') return;
    // A bracket that nothing closes does not hide the rest.
    const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](std::uint32_t token) {
      return text_[tokens_[token].begin] == opens;
    });
    if (found == open_.rend()) return;
    tokens_[number].partner = *found;
    tokens_[*found].partner = number;
    open_.erase(std::prev(found.base()), open_.end());
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool line_begins_ = true;
  std::vector<Token> tokens_;
  std::vector<std::uint32_t> open_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  return Tokenizer(text).run();
}

SourceLine line_of(std::string_view text, std::size_t at) {
  std::uint32_t lines = 0;
  std::size_t line_begin = text.rfind('\n', at == 0 ? 0 : at - 1);
  line_begin = line_begin == std::string_view::npos ? 0 : line_begin + 1;
  while (true) {
    const std::string_view line = text.substr(line_begin, text.find('\n', line_begin) - line_begin);
    if (line.starts_with("# ") && line.size() > 2 && is_digit(line[2])) {
      SourceLine found;
      const char* end = std::from_chars(line.data() + 2, line.data() + line.size(), found.line).ptr;
      const auto quote = line.find('"', static_cast<std::size_t>(end - line.data()));
      const auto closing = line.rfind('"');
      if (quote != std::string_view::npos && closing > quote)
        found.file = line.substr(quote + 1, closing - quote - 1);
      // The marker is for the line after it.
      found.line += lines == 0 ? 0 : lines - 1;
      return found;
    }
    if (line_begin == 0) return {{}, lines + 1};
    ++lines;
    line_begin = line_begin < 2 ? std::string_view::npos : text.rfind('\n', line_begin - 2);
    line_begin = line_begin == std::string_view::npos ? 0 : line_begin + 1;
  }
}

}  // namespace torchport::cuda
