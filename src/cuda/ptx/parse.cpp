#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cuda/ptx/instruction.h"

namespace torchport::cuda::ptx {

namespace {

enum class PtxTokenKind : std::uint8_t { kWord, kNumber, kOperand, kSpecial, kMark, kEnd };
struct PtxToken {
  PtxTokenKind kind = PtxTokenKind::kEnd;
  std::string text;
};

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

class PtxLexer {
 public:
  PtxLexer(std::string_view text, const std::vector<std::string>& names)
      : text_(text), names_(names) {}

  base::Result<std::vector<PtxToken>> run() {
    std::vector<PtxToken> tokens;
    while (true) {
      skip_space();
      if (at_ >= text_.size()) break;
      auto token = next();
      if (!token) return tl::make_unexpected(token.error());
      tokens.push_back(std::move(*token));
    }
    tokens.push_back({});
    return tokens;
  }

 private:
  void skip_space() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        break;
      }
    }
  }

  // Letters, digits, and with `points` also . and :: between them.
  std::string word(bool points) {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const bool scope = points && text_.substr(at_, 2) == "::";
      const bool point = points && text_[at_] == '.' && at_ + 1 < text_.size() &&
                         is_name_character(text_[at_ + 1]);
      if (!is_name_character(text_[at_]) && !scope && !point) break;
      at_ += scope ? 2 : 1;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  base::Result<PtxToken> next() {
    const char c = text_[at_];
    if (c == '%') return after_percent();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0)
      return PtxToken{PtxTokenKind::kNumber, word(true)};
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
        (c == '.' && at_ + 1 < text_.size() && is_name_character(text_[at_ + 1]))) {
      std::string start;
      if (c == '.') start = std::string(1, text_[at_++]);
      return PtxToken{PtxTokenKind::kWord, start + word(true)};
    }
    ++at_;
    return PtxToken{PtxTokenKind::kMark, std::string(1, c)};
  }

  base::Result<PtxToken> after_percent() {
    ++at_;
    if (at_ >= text_.size()) return base::fail(base::ErrorCode::kSyntax, "a % ends the PTX");
    if (text_[at_] == '%') {
      ++at_;
      return PtxToken{PtxTokenKind::kSpecial, word(true)};
    }
    if (text_[at_] == '[') {
      const std::size_t end = text_.find(']', at_);
      if (end == std::string_view::npos) return base::fail(base::ErrorCode::kSyntax, "%[ has no ]");
      const std::string name(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
      for (std::size_t i = 0; i < names_.size(); ++i)
        if (names_[i] == name) return PtxToken{PtxTokenKind::kOperand, std::to_string(i)};
      return base::fail(base::ErrorCode::kSyntax, fmt::format("there is no operand [{}]", name));
    }
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      std::string digits;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
        digits += text_[at_++];
      if (digits.size() > 3 || std::stoul(digits) >= names_.size())
        return base::fail(base::ErrorCode::kSyntax, fmt::format("there is no operand %{}", digits));
      return PtxToken{PtxTokenKind::kOperand, digits};
    }
    if (text_[at_] == '=') {  // a number of this statement's own
      ++at_;
      return PtxToken{PtxTokenKind::kNumber, "0"};
    }
    if (text_[at_] == '{' || text_[at_] == '}' || text_[at_] == '|')
      return PtxToken{PtxTokenKind::kMark, std::string(1, text_[at_++])};
    // Statements without operands write special registers with one %.
    return PtxToken{PtxTokenKind::kSpecial, word(true)};
  }

  std::string_view text_;
  const std::vector<std::string>& names_;
  std::size_t at_ = 0;
};

Item item_of(ItemKind kind, std::string name = {}) {
  Item item;
  item.kind = kind;
  item.name = std::move(name);
  return item;
}
Operand operand_of(OperandKind kind, std::string text = {}) {
  Operand operand;
  operand.kind = kind;
  operand.text = std::move(text);
  return operand;
}

class PtxParser {
 public:
  explicit PtxParser(std::vector<PtxToken> tokens) : tokens_(std::move(tokens)) {}

  base::Result<std::vector<Item>> run() {
    scopes_.emplace_back();
    while (now().kind != PtxTokenKind::kEnd && error_.empty()) item();
    if (error_.empty() && scopes_.size() != 1) error_ = "a { has no }";
    if (!error_.empty()) return base::fail(base::ErrorCode::kSyntax, error_);
    return std::move(items_);
  }

 private:
  [[nodiscard]] const PtxToken& now() const { return tokens_[at_]; }
  [[nodiscard]] const PtxToken& peek() const {
    return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
  }
  [[nodiscard]] bool is_mark(const PtxToken& token, char c) const {
    return token.kind == PtxTokenKind::kMark && token.text[0] == c;
  }
  bool accept(char c) {
    if (!is_mark(now(), c)) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (accept(c) || !error_.empty()) return;
    error_ = fmt::format("there is `{}` where PTX has `{}`", now().text, c);
  }
  void advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }

  void item() {
    if (accept(';')) return;
    if (accept('{')) {
      scopes_.emplace_back();
      items_.push_back(item_of(ItemKind::kOpen));
      return;
    }
    if (accept('}')) {
      if (scopes_.size() == 1)
        error_ = "a } has no {";
      else
        scopes_.pop_back();
      items_.push_back(item_of(ItemKind::kClose));
      return;
    }
    if (now().kind == PtxTokenKind::kWord && now().text.starts_with(".reg")) return registers();
    if (now().kind == PtxTokenKind::kWord && is_mark(peek(), ':')) {
      items_.push_back(item_of(ItemKind::kLabel, label(now().text)));
      at_ += 2;
      return;
    }
    instruction();
  }

  static std::string label(const std::string& name) { return "torchport_l_" + plain(name); }
  // A C++ name from one of PTX.
  static std::string plain(const std::string& name) {
    std::string result;
    for (const char c : name)
      result += c == '$' || c == '.' || c == ':' ? std::string("_d_") : std::string(1, c);
    return result;
  }

  // .reg .pred p, q;   .reg .b32 r<4>;
  void registers() {
    std::string type = now().text.substr(4);
    advance();
    if (type.empty() && now().kind == PtxTokenKind::kWord) {
      type = now().text;
      advance();
    }
    if (type.starts_with('.')) type.erase(0, 1);
    Item item = item_of(ItemKind::kRegisters, type);
    do {
      if (now().kind != PtxTokenKind::kWord && now().kind != PtxTokenKind::kSpecial) {
        error_ = fmt::format("there is `{}` where .reg has a name", now().text);
        return;
      }
      const std::string name = now().text;
      advance();
      std::size_t count = 0;
      if (accept('<')) {
        count = now().text.size() < 4 && now().kind == PtxTokenKind::kNumber
                    ? std::stoul(now().text)
                    : 0;
        if (count == 0) error_ = "the number of registers is missing";
        advance();
        expect('>');
      }
      if (count == 0) declare(name, item);
      for (std::size_t i = 0; i < count; ++i) declare(name + std::to_string(i), item);
    } while (accept(',') && error_.empty());
    expect(';');
    items_.push_back(std::move(item));
  }

  void declare(const std::string& name, Item& item) {
    std::string variable = fmt::format("torchport_r_{}", plain(name));
    scopes_.back()[name] = variable;
    item.names.push_back(std::move(variable));
  }

  [[nodiscard]] std::optional<std::string> declared(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end()) return found->second;
    return std::nullopt;
  }

  void instruction() {
    Item item;
    if (accept('@')) {
      const bool negated = accept('!');
      const Operand guard = operand();
      if (guard.kind != OperandKind::kRegister) error_ = "a guard is no predicate";
      item.guard = negated ? "!" + guard.text : guard.text;
    }
    if (now().kind != PtxTokenKind::kWord) {
      if (error_.empty())
        error_ = fmt::format("there is `{}` where PTX has an instruction", now().text);
      return;
    }
    item.opcode = now().text;
    for (std::size_t begin = 0; begin <= item.opcode.size();) {
      const std::size_t end = std::min(item.opcode.find('.', begin), item.opcode.size());
      item.words.push_back(item.opcode.substr(begin, end - begin));
      begin = end + 1;
    }
    advance();
    while (!is_mark(now(), ';') && now().kind != PtxTokenKind::kEnd && error_.empty()) {
      item.operands.push_back(operand());
      if (!accept(',')) break;
    }
    if (!accept(';') && now().kind != PtxTokenKind::kEnd && !is_mark(now(), '}') && error_.empty())
      error_ = fmt::format("there is `{}` after the operands of `{}`", now().text, item.opcode);
    items_.push_back(std::move(item));
  }

  Operand operand() {
    const bool constant = starts_constant();
    Operand first = single();
    if (constant && first.kind == OperandKind::kInteger)
      if (const std::string rest = rest_of_constant(false); !rest.empty())
        first.text = fmt::format("({}{})", first.text, rest);
    if (!accept('|')) return first;
    Operand pair = operand_of(OperandKind::kPair);
    pair.parts.push_back(std::move(first));
    pair.parts.push_back(single());
    return pair;
  }

  // 0xF0 & 0xCC, (1 << 4) | 3: values that the compiler knows, with the operators of C++.
  [[nodiscard]] bool starts_constant() const {
    return now().kind == PtxTokenKind::kNumber ||
           (now().kind == PtxTokenKind::kMark &&
            std::string_view("(-+~").find(now().text[0]) != std::string_view::npos);
  }
  // `begins`: a number comes next, not an operator.
  std::string rest_of_constant(bool begins) {
    constexpr std::string_view kOperators = "+-*/%&|^<>=!~?:()";
    std::string text;
    int depth = 0;
    while (error_.empty()) {
      if (now().kind == PtxTokenKind::kNumber && begins) {
        begins = false;
        const std::string digits = now().text;
        advance();
        text += number({}, digits).text;
        continue;
      }
      if (now().kind != PtxTokenKind::kMark ||
          kOperators.find(now().text[0]) == std::string_view::npos)
        break;
      const char mark = now().text[0];
      depth += mark == '(' ? 1 : mark == ')' ? -1 : 0;
      if (depth < 0) break;
      begins = mark != ')';
      // A space keeps two signs from being one operator.
      if (mark == '-' || mark == '+' || mark == '~') text += ' ';
      text += mark;
      advance();
    }
    if (depth > 0 && error_.empty()) error_ = "a ( of a constant has no )";
    return text;
  }

  Operand single() {
    if (accept('(')) {
      const std::string inside = rest_of_constant(true);
      expect(')');
      return operand_of(OperandKind::kInteger, fmt::format("({})", inside));
    }
    if (accept('~')) return operand_of(OperandKind::kInteger, fmt::format("(~{})", single().text));
    if (accept('!')) {
      Operand result = single();
      result.negated = !result.negated;
      return result;
    }
    if (accept('{')) {
      Operand vector = operand_of(OperandKind::kVector);
      while (!is_mark(now(), '}') && now().kind != PtxTokenKind::kEnd && error_.empty()) {
        vector.parts.push_back(operand());
        if (!accept(',')) break;
      }
      expect('}');
      return vector;
    }
    if (accept('[')) return address();
    std::string sign;
    if (is_mark(now(), '-'))
      sign = "-", advance();
    else if (is_mark(now(), '+'))
      advance();
    const PtxToken token = now();
    advance();
    switch (token.kind) {
      case PtxTokenKind::kOperand:
        if (!sign.empty())
          return operand_of(OperandKind::kInteger,
                            fmt::format("(0 - static_cast<long long>(torchport_{}))", token.text));
        return operand_of(OperandKind::kRegister, "torchport_" + token.text);
      case PtxTokenKind::kNumber:
        return number(sign, token.text);
      case PtxTokenKind::kSpecial:
        if (auto variable = declared(token.text))
          return operand_of(OperandKind::kRegister, *variable);
        return operand_of(OperandKind::kSpecial, token.text);
      case PtxTokenKind::kWord:
        if (token.text == "_") return {};
        if (auto variable = declared(token.text))
          return operand_of(OperandKind::kRegister, *variable);
        if (token.text == "WARP_SZ") return operand_of(OperandKind::kInteger, "32ull");
        return operand_of(OperandKind::kLabel, label(token.text));
      default:
        break;
    }
    if (error_.empty()) error_ = fmt::format("there is `{}` where PTX has an operand", token.text);
    return {};
  }

  Operand number(const std::string& sign, std::string text) {
    if (text.size() == 10 && (text.starts_with("0f") || text.starts_with("0F")))
      return operand_of(OperandKind::kInteger, fmt::format("0x{}u", text.substr(2)));
    if (text.size() == 18 && (text.starts_with("0d") || text.starts_with("0D")))
      return operand_of(OperandKind::kInteger, fmt::format("0x{}ull", text.substr(2)));
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (!hexadecimal && text.find_first_of(".eE") != std::string::npos) {
      // 1e-5: the sign of the exponent is a mark of its own.
      if ((text.ends_with('e') || text.ends_with('E')) &&
          (is_mark(now(), '-') || is_mark(now(), '+'))) {
        text += now().text;
        advance();
        text += now().text;
        advance();
      }
      return operand_of(OperandKind::kFloat, sign + text);
    }
    if (text.ends_with('U') || text.ends_with('u')) text.pop_back();
    const std::string digits = hexadecimal ? text.substr(2) : text;
    const std::string_view allowed = hexadecimal ? "0123456789abcdefABCDEF" : "0123456789b";
    if (digits.empty() || digits.find_first_not_of(allowed) != std::string::npos) {
      if (error_.empty()) error_ = fmt::format("`{}` is no number", text);
      return {};
    }
    return operand_of(OperandKind::kInteger,
                      sign.empty() ? text + "ull" : fmt::format("(0 - {}ull)", text));
  }

  // [base], [base+16], [base+%3], [base + -4]
  Operand address() {
    Operand result = operand_of(OperandKind::kAddress);
    result.parts.push_back(single());
    result.text = "0";
    while ((is_mark(now(), '+') || is_mark(now(), '-')) && error_.empty()) {
      const bool minus = is_mark(now(), '-');
      advance();
      const Operand more = single();
      result.text += fmt::format(" {} static_cast<long long>({})", minus ? '-' : '+', more.text);
    }
    if (accept(',')) {  // tensor copies: [map, {coordinates}]
      result.parts.push_back(single());
    }
    expect(']');
    return result;
  }

  std::vector<PtxToken> tokens_;
  std::size_t at_ = 0;
  std::string error_;
  std::vector<Item> items_;
  std::vector<std::map<std::string, std::string>> scopes_;
};

}  // namespace

base::Result<std::vector<Item>> parse(std::string_view text,
                                      const std::vector<std::string>& operand_names) {
  auto tokens = PtxLexer(text, operand_names).run();
  if (!tokens) return tl::make_unexpected(tokens.error());
  return PtxParser(std::move(*tokens)).run();
}

}  // namespace torchport::cuda::ptx
