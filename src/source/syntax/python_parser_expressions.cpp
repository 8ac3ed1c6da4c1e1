// Expressions by the precedence of their operators.
#include <array>

#include "source/syntax/python_parser.h"

namespace torchport::syntax {

std::uint32_t PythonParser::binding_of(Token token) {
  using Table = std::array<std::uint8_t, static_cast<std::size_t>(Token::kCount)>;
  static constexpr Table kBindings = [] {
    Table bindings{};
    const auto set = [&](std::uint8_t binding, auto... tokens) {
      ((bindings[static_cast<std::size_t>(tokens)] = binding), ...);
    };
    set(kOrBinding, Token::kOr);
    set(kAndBinding, Token::kAnd);
    set(kCompareBinding, Token::kCompare, Token::kIn, Token::kIs, Token::kNot);
    set(kBarBinding, Token::kBar);
    set(kAmpersandBinding, Token::kAmpersand);
    set(kCaretBinding, Token::kCaret);
    set(kShiftBinding, Token::kShift);
    set(kSumBinding, Token::kPlus, Token::kMinus);
    set(kProductBinding, Token::kStar, Token::kSlash, Token::kDoubleSlash, Token::kPercent,
        Token::kAt);
    set(kPowerBinding, Token::kDoubleStar);
    return bindings;
  }();
  return kBindings[static_cast<std::size_t>(token)];
}

bool PythonParser::expression() {
  const Level level(*this);
  if (!level.is_fine()) return false;
  if (at(Token::kLambda)) return lambda();
  const Mark mark = begin();
  return operation(kOrBinding) && (!at(Token::kIf) || conditional(mark));
}

// The rest of `a if b else c`.
bool PythonParser::conditional(Mark mark) {
  const std::uint32_t low_lines = lexer_.low_lines;
  take();
  if (!operation(kOrBinding) || lexer_.low_lines != low_lines || !take(Token::kElse) ||
      !expression())
    return false;
  close(mark, Kind::kConditional);
  return true;
}

// An expression, or `name := expression`.
bool PythonParser::named_expression() {
  const Mark mark = begin();
  if (!expression()) return false;
  if (!at(Token::kWalrus)) return true;
  if (count() != mark.index + 1 || records_.back().kind != Kind::kIdentifier) return false;
  set_field(Field::kName);
  take();
  if (at(Token::kLambda) ? !lambda() : !operation(kOrBinding)) return false;
  set_field(Field::kValue);
  close(mark, Kind::kNamedExpression);
  // The grammar reads `a := b if c else d` as if the first half were in brackets.
  return !at(Token::kIf) || conditional(mark);
}

// An expression of operators that bind at least so closely.
bool PythonParser::operation(std::uint32_t least) {
  const Level level(*this);
  if (!level.is_fine()) return false;
  const Mark mark = begin();
  return operand(least) && operators(mark, least);
}

// The operators after an operand, which was read.
bool PythonParser::operators(Mark mark, std::uint32_t least) {
  while (true) {
    const std::uint32_t binding = binding_of(token());
    if (binding < least || binding == kNothing) return true;
    if (binding == kCompareBinding) {
      if (!comparison(mark)) return false;
      continue;
    }
    set_field(Field::kLeft);
    leaf(Kind::kOther, Field::kOperator);
    // A power binds to the right, and takes a sign there.
    const std::uint32_t right = binding == kPowerBinding ? binding - 1 : binding + 1;
    if (!operation(right)) return false;
    set_field(Field::kRight);
    close(mark, binding <= kAndBinding ? Kind::kBooleanOperator : Kind::kBinaryOperator);
  }
}

bool PythonParser::operand(std::uint32_t least) {
  const Mark mark = begin();
  switch (token()) {
    case Token::kNot:
      if (least > kNotBinding) return false;
      take();
      if (!operation(kNotBinding)) return false;
      set_field(Field::kArgument);
      close(mark, Kind::kNotOperator);
      return true;
    case Token::kPlus:
    case Token::kMinus:
    case Token::kTilde:
      leaf(Kind::kOther, Field::kOperator);
      if (!operation(kUnaryBinding)) return false;
      set_field(Field::kArgument);
      close(mark, Kind::kUnaryOperator);
      return true;
    case Token::kAwait:
      // In the grammar, but not in Python, a power binds closer.
      take();
      if (at(Token::kNot) || at(Token::kPlus) || at(Token::kMinus) || at(Token::kTilde) ||
          at(Token::kAwait) || !operation(kPowerBinding))
        return false;
      close(mark, Kind::kAwait);
      return true;
    default:
      return primary();
  }
}

bool PythonParser::comparison(Mark mark) {
  while (binding_of(token()) == kCompareBinding) {
    const Mark here = begin();
    if (take(Token::kNot)) {
      if (!take(Token::kIn)) return false;
      close(here, Kind::kOther, Field::kOperators);
    } else if (take(Token::kIs)) {
      take(Token::kNot);
      close(here, Kind::kOther, Field::kOperators);
    } else {
      leaf(Kind::kOther, Field::kOperators);
    }
    if (!operation(kBarBinding)) return false;
  }
  close(mark, Kind::kComparison);
  return true;
}

bool PythonParser::primary() {
  const Mark mark = begin();
  return atom() && trailers(mark);
}

// Attributes, calls and subscripts of an operand, which was read.
bool PythonParser::trailers(Mark mark) {
  while (true) {
    switch (token()) {
      case Token::kDot:
        set_field(Field::kObject);
        take();
        if (!identifier(Field::kAttributeName)) return false;
        close(mark, Kind::kAttribute);
        break;
      case Token::kOpenParen:
        set_field(Field::kFunctionPart);
        if (!arguments()) return false;
        set_field(Field::kArguments);
        close(mark, Kind::kCall);
        break;
      case Token::kOpenBracket:
        set_field(Field::kValue);
        if (!subscript()) return false;
        close(mark, Kind::kSubscript);
        break;
      default:
        return true;
    }
  }
}

// Expressions outside of brackets, as one node if there is a comma.
bool PythonParser::expression_list() {
  const Mark mark = begin();
  bool has_comma = false;
  if (!expressions(has_comma)) return false;
  if (has_comma) close(mark, Kind::kExpressionList);
  return true;
}

bool PythonParser::expressions(bool& has_comma) {
  while (true) {
    bool is_star = false;
    if (at(Token::kStar)) {
      const Mark mark = begin();
      take();
      if (!identifier()) return false;
      close(mark, Kind::kListSplat);
      is_star = true;
      // At the beginning, the grammar reads `*a.b` as an attribute of `*a`. Further on it has more
      // than one way.
      if (!has_comma && (!trailers(mark) || !operators(mark, kOrBinding) ||
                         (at(Token::kIf) && !conditional(mark))))
        return false;
    } else if (!expression()) {
      return false;
    }
    if (!at(Token::kComma)) {
      return !is_star ||
             (has_comma && (ends_statement() || at(Token::kEqual) || at(Token::kColon) ||
                            at(Token::kCloseParen) || at(Token::kCloseBrace)));
    }
    take();
    has_comma = true;
    switch (token()) {
      case Token::kNewline:
      case Token::kEnd:
      case Token::kSemicolon:
      case Token::kEqual:
      case Token::kColon:
      case Token::kAugmented:
      case Token::kExclamation:
      case Token::kCloseParen:
      case Token::kCloseBracket:
      case Token::kCloseBrace:
        return true;
      default:
        break;
    }
  }
}

bool PythonParser::lambda() {
  const Level level(*this);
  if (!level.is_fine()) return false;
  const Mark mark = begin();
  const std::uint32_t low_lines = lexer_.low_lines;
  take();
  if (!at(Token::kColon)) {
    const Mark inner = begin();
    if (!parameters(false)) return false;
    close(inner, Kind::kLambdaParameters, Field::kParametersPart);
  }
  if (lexer_.low_lines != low_lines || !take(Token::kColon) || !expression()) return false;
  set_field(Field::kBody);
  close(mark, Kind::kLambda);
  return true;
}

bool PythonParser::yield() {
  const Mark mark = begin();
  take();
  if (take(Token::kFrom)) {
    if (!expression()) return false;
  } else {
    const bool is_bare =
        ends_statement() || at(Token::kCloseParen) || at(Token::kCloseBrace) || at(Token::kEqual);
    if (!is_bare && !expression_list()) return false;
  }
  close(mark, Kind::kYield);
  return true;
}

// The targets of a loop.
bool PythonParser::targets() {
  const Mark mark = begin();
  const std::uint32_t low_lines = lexer_.low_lines;
  bool has_comma = false;
  bool is_star = false;
  while (!at(Token::kIn)) {
    if (at(Token::kStar)) {
      const Mark star = begin();
      take();
      if (!identifier()) return false;
      close(star, Kind::kListSplatPattern);
      is_star = true;
    } else if (!primary() || !to_pattern(count() - 1)) {
      return false;
    }
    if (!at(Token::kComma)) break;
    take();
    has_comma = true;
  }
  if (count() == mark.index || (is_star && !has_comma) || lexer_.low_lines != low_lines)
    return false;
  if (has_comma) close(mark, Kind::kPatternList);
  set_field(Field::kLeft);
  return true;
}

}  // namespace torchport::syntax
