// Names, numbers, and all that stands in brackets.
#include "source/syntax/python_parser.h"

namespace torchport::syntax {

bool PythonParser::atom() {
  switch (token()) {
    case Token::kName:
      leaf(Kind::kIdentifier);
      return true;
    case Token::kInteger:
      leaf(Kind::kInteger);
      return true;
    case Token::kFloat:
      leaf(Kind::kFloat);
      return true;
    case Token::kString:
      return strings();
    case Token::kTrue:
      leaf(Kind::kTrue);
      return true;
    case Token::kFalse:
      leaf(Kind::kFalse);
      return true;
    case Token::kNone:
      leaf(Kind::kNone);
      return true;
    case Token::kEllipsis:
      leaf(Kind::kEllipsis);
      return true;
    case Token::kOpenParen:
      return parenthesized();
    case Token::kOpenBracket:
      return list();
    case Token::kOpenBrace:
      return braces();
    default:
      return false;
  }
}

bool PythonParser::parenthesized() {
  const Mark mark = begin();
  const bool is_with = mark.start == with_bracket_;
  take();
  if (take(Token::kCloseParen)) {
    close(mark, Kind::kTuple);
    return true;
  }
  if (at(Token::kYield)) {
    if (!yield() || !take(Token::kCloseParen)) return false;
    close(mark, Kind::kParenthesized);
    return true;
  }
  const Mark first = begin();
  const bool is_star = at(Token::kStar);
  if (!item()) return false;
  if (is_with && at(Token::kAs)) {
    if (!as_pattern(first)) return false;
    with_as_ = true;
  }
  if (at(Token::kFor) || at(Token::kAsync))
    return !is_star && comprehension(mark, Token::kCloseParen, Kind::kGenerator);
  if (at(Token::kComma)) return items(mark, Token::kCloseParen, Kind::kTuple);
  if (is_star || !take(Token::kCloseParen)) return false;
  close(mark, Kind::kParenthesized);
  return true;
}

bool PythonParser::list() {
  const Mark mark = begin();
  take();
  if (take(Token::kCloseBracket)) {
    close(mark, Kind::kList);
    return true;
  }
  const Mark first = begin();
  const bool is_star = at(Token::kStar);
  if (!item()) return false;
  if (at(Token::kFor) || at(Token::kAsync))
    return !is_star && comprehension(mark, Token::kCloseBracket, Kind::kListComprehension);
  if (is_star && at(Token::kCloseBracket) && !move_star(first)) return false;
  return items(mark, Token::kCloseBracket, Kind::kList);
}

bool PythonParser::braces() {
  const Mark mark = begin();
  take();
  if (at(Token::kCloseBrace) || at(Token::kDoubleStar)) return dictionary_items(mark, false);
  const Mark first = begin();
  const bool is_star = at(Token::kStar);
  if (!item()) return false;
  if (at(Token::kColon)) {
    if (is_star || !pair_value(first)) return false;
    if (at(Token::kFor) || at(Token::kAsync))
      return comprehension(mark, Token::kCloseBrace, Kind::kDictionaryComprehension);
    return dictionary_items(mark, true);
  }
  if (at(Token::kFor) || at(Token::kAsync))
    return !is_star && comprehension(mark, Token::kCloseBrace, Kind::kSetComprehension);
  if (is_star && at(Token::kCloseBrace) && !move_star(first)) return false;
  return items(mark, Token::kCloseBrace, Kind::kSet);
}

// The rest of a dictionary; `begun` says that a pair was read.
bool PythonParser::dictionary_items(Mark mark, bool begun) {
  while (true) {
    if (begun && !take(Token::kComma)) break;
    begun = true;
    if (at(Token::kCloseBrace)) break;
    const Mark here = begin();
    if (take(Token::kDoubleStar)) {
      if (!operation(kBarBinding)) return false;
      close(here, Kind::kDictionarySplat);
    } else if (!expression() || !pair_value(here)) {
      return false;
    }
  }
  if (!take(Token::kCloseBrace)) return false;
  close(mark, Kind::kDictionary);
  return true;
}

bool PythonParser::pair_value(Mark mark) {
  if (records_.back().kind == Kind::kNamedExpression) return false;
  set_field(Field::kKey);
  if (!take(Token::kColon) || !expression()) return false;
  set_field(Field::kValue);
  close(mark, Kind::kPair);
  return true;
}

// The rest of a list, tuple or set whose first item was read.
bool PythonParser::items(Mark mark, Token closing, Kind kind) {
  while (take(Token::kComma)) {
    if (at(closing)) break;
    if (!item()) return false;
  }
  if (!take(closing)) return false;
  close(mark, kind);
  return true;
}

bool PythonParser::item() {
  return at(Token::kStar) ? splat() : named_expression();
}

bool PythonParser::splat() {
  const Mark mark = begin();
  take();
  const std::uint32_t operand = lexer_.start;
  if (!operation(kBarBinding)) return false;
  close(mark, Kind::kListSplat);
  splat_operand_ = operand;
  return true;
}

// The only item of a list or set, which splat() read: the grammar takes the star for a part of the
// first name, attribute or subscript that the operand begins with, so that `[*a.b]` holds an
// attribute of a splat.
bool PythonParser::move_star(Mark mark) {
  Record star = records_.back();
  if (records_[mark.index].start < splat_operand_) return false;  // a comment after the star
  const std::uint32_t last = count() - 2;
  std::uint32_t target = mark.index;
  for (; target < last; ++target) {
    const Record& record = records_[target];
    if (record.start == splat_operand_ &&
        (record.kind == Kind::kIdentifier || record.kind == Kind::kAttribute ||
         record.kind == Kind::kSubscript))
      break;
  }
  if (target == last) return true;
  for (std::uint32_t i = target + 1; i <= last; ++i) {
    if (records_[i].start != splat_operand_) continue;
    records_[i].start = star.start;
    ++records_[i].subtree_end;
  }
  Record& operand = records_[target];
  star.end = operand.end;
  star.field = operand.field;
  star.subtree_end = operand.subtree_end + 1;
  operand.field = Field::kNone;
  records_.pop_back();
  records_.insert(records_.begin() + static_cast<std::ptrdiff_t>(target) + 1, star);
  return true;
}

bool PythonParser::arguments() {
  const Mark mark = begin();
  const bool is_soft = mark.index > 0 && records_[mark.index - 1].start == soft_call_ &&
                       records_[mark.index - 1].kind == Kind::kIdentifier;
  take();
  bool is_first = true;
  while (!at(Token::kCloseParen)) {
    bool is_generator = false;
    if (!argument(mark, is_first, is_generator)) return false;
    if (is_generator) return true;
    if (is_soft && !is_first && !is_plain_splat()) return false;
    is_first = false;
    if (!take(Token::kComma)) break;
  }
  if (!take(Token::kCloseParen)) return false;
  close(mark, Kind::kArgumentList);
  return true;
}

// In `print(a, *b.c())` the grammar also sees a tuple, where the star belongs to the name alone.
bool PythonParser::is_plain_splat() const {
  if (records_.back().kind != Kind::kListSplat) return true;
  const Kind kind = records_[count() - 2].kind;
  return kind == Kind::kIdentifier || kind == Kind::kAttribute || kind == Kind::kSubscript;
}

bool PythonParser::argument(Mark call, bool is_first, bool& is_generator) {
  const Mark mark = begin();
  if (take(Token::kStar)) {
    if (!expression()) return false;
    close(mark, Kind::kListSplat);
    return true;
  }
  if (take(Token::kDoubleStar)) {
    if (!expression()) return false;
    close(mark, Kind::kDictionarySplat);
    return true;
  }
  if (!named_expression()) return false;
  if (at(Token::kEqual)) {
    if (count() != mark.index + 1 || records_.back().kind != Kind::kIdentifier) return false;
    set_field(Field::kName);
    take();
    if (!expression()) return false;
    set_field(Field::kValue);
    close(mark, Kind::kKeywordArgument);
    return true;
  }
  if (!at(Token::kFor) && !at(Token::kAsync)) return true;
  is_generator = true;
  return is_first && comprehension(call, Token::kCloseParen, Kind::kGenerator);
}

bool PythonParser::subscript() {
  take();
  do {
    if (at(Token::kCloseBracket)) break;
    if (at(Token::kStar)) {
      const Mark mark = begin();
      take();
      if (!identifier() || (!at(Token::kComma) && !at(Token::kCloseBracket))) return false;
      close(mark, Kind::kListSplat);
    } else if (!slice()) {
      return false;
    }
    set_field(Field::kSubscriptPart);
  } while (take(Token::kComma));
  // The subscript has to have something in it, and its last record is no bracket's.
  return records_.back().field == Field::kSubscriptPart && take(Token::kCloseBracket);
}

bool PythonParser::slice() {
  const Mark mark = begin();
  if (!at(Token::kColon)) {
    if (!named_expression()) return false;
    if (!at(Token::kColon)) return true;
    if (records_.back().kind == Kind::kNamedExpression) return false;
  }
  for (int colons = 0; colons < 2 && at(Token::kColon); ++colons) {
    take();
    if (at(Token::kColon) || at(Token::kComma) || at(Token::kCloseBracket)) continue;
    if (!expression()) return false;
  }
  close(mark, Kind::kSlice);
  return true;
}

// The clauses after the body of a comprehension, which was read.
bool PythonParser::comprehension(Mark mark, Token closing, Kind kind) {
  set_field(Field::kBody);
  while (!at(closing)) {
    const Mark clause = begin();
    if (take(Token::kIf)) {
      if (!operation(kOrBinding)) return false;
      close(clause, Kind::kIfClause);
      continue;
    }
    take(Token::kAsync);
    if (!take(Token::kFor) || !targets() || !take(Token::kIn) || !operation(kOrBinding))
      return false;
    set_field(Field::kRight);
    close(clause, Kind::kForIn);
  }
  take();
  close(mark, kind);
  return true;
}

}  // namespace torchport::syntax
