#include "source/syntax/second_view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"

namespace torchport::syntax {

namespace {

constexpr std::size_t kMostNesting = 200;  // CPython's own limit for brackets

bool is_end(char c) {
  return c == '\n' || c == '\r';
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\f';
}

bool is_word(char c) {
  return base::is_identifier_char(c) || static_cast<unsigned char>(c) >= 0x80U;
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Statements whose stars are no splats of an expression.
constexpr std::array<std::string_view, 10> kOtherStars{"def",  "class",  "import", "from", "del",
                                                       "with", "except", "lambda", "case", "type"};
// Words that an operand does not end with, so that a bracket after them is no subscript.
constexpr std::array<std::string_view, 21> kKeywords{
    "return", "yield", "in", "is",    "not",   "and",  "or",   "if",    "else",   "elif", "for",
    "while",  "with",  "as", "await", "raise", "case", "from", "print", "assert", "del"};
constexpr std::array<std::string_view, 10> kStringPrefixes{"r",  "b",  "u",  "f",  "t",
                                                           "br", "rb", "fr", "rf", "tr"};

class Rewriter {
 public:
  explicit Rewriter(std::string_view view) : view_(view), text_(view) {}

  std::optional<std::string> run() {
    frames_.push_back({});
    frames_.back().takes_stars = true;
    code();
    commit();
    if (lost_ || text_ == view_) return std::nullopt;
    return std::move(text_);
  }

 private:
  enum class Holder : std::uint8_t { kLine, kBracket, kTypeParameters, kField };
  struct Frame {
    Holder holder = Holder::kLine;
    bool takes_stars = false;
    bool begun = false;  // a token was seen in it
    int lambdas = 0;     // whose colon has not come yet
  };

  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < view_.size() ? view_[at_ + ahead] : '\0';
  }
  Frame& frame() { return frames_.back(); }

  // Reads code until the frame of the beginning is closed, or to the end.
  void code() {
    const std::size_t depth = frames_.size();
    while (at_ < view_.size() && !lost_ && frames_.size() >= depth) token();
  }

  void token() {
    const char c = peek();
    if (is_space(c)) {
      ++at_;
    } else if (is_end(c)) {
      ++at_;
      if (frames_.size() == 1) new_line();
    } else if (c == '#') {
      while (at_ < view_.size() && !is_end(peek())) ++at_;
    } else if (c == '\\') {
      backslash();
    } else if (is_word(c)) {
      word();
    } else if (c == '"' || c == '\'') {
      string("");
    } else {
      mark(c);
    }
  }

  // What the token just read means for the next one: whether it ended an operand, and whether an
  // item of a list may begin after it.
  void read(bool operand, bool item = false) {
    after_operand_ = operand;
    before_item_ = item;
    frame().begun = true;
  }

  void new_line() {
    commit();
    first_word_ = {};
    frame().takes_stars = true;
    frame().lambdas = 0;
    frame().begun = false;
    after_operand_ = false;
    before_item_ = true;
  }

  void commit() {
    for (const std::size_t star : stars_) text_[star] = '+';
    stars_.clear();
  }

  void backslash() {
    std::size_t next = at_ + 1;
    if (next < view_.size() && view_[next] == '\r') ++next;
    if (next < view_.size() && view_[next] == '\n') ++next;
    const std::size_t line = next;
    while (next < view_.size() && is_space(view_[next])) ++next;
    const bool ends = next < view_.size() && (is_end(view_[next]) || view_[next] == '#');
    if (line > at_ + 1 && ends) {
      text_[at_] = ' ';
      ++at_;
    } else {
      at_ = std::max(line, at_ + 1);
    }
  }

  void word() {
    const std::size_t start = at_;
    while (is_word(peek())) ++at_;
    const std::string_view word = view_.substr(start, at_ - start);
    if (peek() == '"' || peek() == '\'') {
      const std::string prefix = base::lower(word);
      if (is_one_of(prefix, kStringPrefixes) || prefix == "rt") return string(prefix);
    }
    const bool is_line = frames_.size() == 1;
    if (is_line && first_word_.empty() && word != "async") {
      first_word_ = word;
      if (is_one_of(word, kOtherStars)) frame().takes_stars = false;
    }
    if (word == "lambda") ++frame().lambdas;
    // The targets of a loop are no expressions.
    if (word == "in" && is_line && first_word_ == "for") stars_.clear();
    if (word == "yield" && frame().holder == Holder::kBracket && !frame().begun)
      frame().takes_stars = true;
    names_definition_ = last_word_ == "class" || last_word_ == "def" ||
                        (last_word_ == "type" && first_word_ == "type");
    last_word_ = word;
    read(!is_one_of(word, kKeywords), word == "return" || word == "yield" || word == "in");
  }

  void mark(char c) {
    const bool defines = std::exchange(names_definition_, false);
    last_word_ = {};
    switch (c) {
      case '(':
      case '[':
      case '{':
        open(c, defines);
        return;
      case ')':
      case ']':
      case '}':
        ++at_;
        if (frames_.size() == 1) {
          lost_ = true;
          return;
        }
        frames_.pop_back();
        read(true);
        return;
      case '*':
        star();
        return;
      case '=':
        equals();
        return;
      case ':':
        colon();
        return;
      case ';':
        ++at_;
        if (frames_.size() == 1) new_line();
        return;
      default:
        ++at_;
        read(false, c == ',');
        // `!=`, `<=` and the like; an augmented assignment has targets before it, too.
        if ((c == '!' || c == '<' || c == '>') && peek() == '=') ++at_;
    }
  }

  void open(char c, bool defines) {
    ++at_;
    Frame inner;
    inner.holder = c == '[' && defines ? Holder::kTypeParameters : Holder::kBracket;
    inner.takes_stars = c == '[' && after_operand_ && !defines;
    read(false, true);
    if (frames_.size() >= kMostNesting) {
      lost_ = true;
      return;
    }
    frames_.push_back(inner);
  }

  void star() {
    const std::size_t start = at_++;
    if (peek() == '*' || peek() == '=') {
      at_ += peek() == '*' && peek(1) == '=' ? 2 : 1;
      if (view_[at_ - 1] == '=') {
        assigned();
        return read(false, true);
      }
    } else if (before_item_ && frame().takes_stars && frame().lambdas == 0) {
      if (frames_.size() == 1) {
        stars_.push_back(start);
      } else {
        text_[start] = '+';
      }
    }
    read(false);
  }

  void assigned() {
    if (frames_.size() == 1 && frame().lambdas == 0) stars_.clear();
  }

  void equals() {
    const std::size_t start = at_++;
    if (peek() == '=') {
      ++at_;
    } else if (frame().holder == Holder::kTypeParameters) {
      const auto value = view_.find_first_not_of(" \t", at_);
      if (value != std::string_view::npos && view_[value] != ']' && view_[value] != ',')
        text_[start] = ',';
    } else {
      assigned();
    }
    read(false, true);
  }

  void colon() {
    ++at_;
    if (frame().lambdas > 0) {
      --frame().lambdas;
    } else if (frame().holder == Holder::kField) {
      format();
      return;
    } else if (frames_.size() == 1) {
      if (peek() == '=') ++at_;
      new_line();
      return;
    }
    read(false);
  }

  // The format after the colon of a field; it ends with the field.
  void format() {
    if (peek() == '=') text_[at_] = '_';
    while (at_ < view_.size() && !lost_) {
      const char c = peek();
      if (c == '}') return;
      if (c == '{') {
        field();
      } else {
        ++at_;
      }
    }
    lost_ = true;
  }

  // Reads a field of an f-string with its braces.
  void field() {
    ++at_;
    if (frames_.size() >= kMostNesting) {
      lost_ = true;
      return;
    }
    Frame inner;
    inner.holder = Holder::kField;
    inner.takes_stars = true;
    frames_.push_back(inner);
    after_operand_ = false;
    before_item_ = true;
    code();
  }

  void string(std::string_view prefix) {
    const bool has_fields = prefix.find_first_of("ft") != std::string_view::npos;
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    while (at_ < view_.size() && !lost_) {
      const char c = peek();
      if (c == '\\') {
        // A doubled brace after a backslash is a field's in a raw string only; names of characters
        // have braces in others.
        at_ += has_fields && (peek(1) == '{' || peek(1) == '}') ? 1 : 2;
      } else if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        at_ += triple ? 3 : 1;
        last_word_ = {};
        names_definition_ = false;
        read(true);
        return;
      } else if (is_end(c) && !triple) {
        break;
      } else if (has_fields && c == '{' && peek(1) == '{') {
        at_ += 2;
      } else if (has_fields && c == '{') {
        field();
      } else {
        ++at_;
      }
    }
    lost_ = true;
  }

  std::string_view view_;
  std::string text_;
  std::size_t at_ = 0;
  std::vector<Frame> frames_;
  std::vector<std::size_t> stars_;  // of this statement, outside of brackets
  std::string_view first_word_;     // of this statement
  std::string_view last_word_;      // the token before, if it is a word
  bool names_definition_ = false;   // the token before is the name in `class A`
  bool after_operand_ = false;
  bool before_item_ = true;
  bool lost_ = false;
};

}  // namespace

std::optional<std::string> second_view(std::string_view view) {
  return Rewriter(view).run();
}

}  // namespace torchport::syntax
