// `match` statements and their patterns.
#include "source/syntax/python_parser.h"

namespace torchport::syntax {

// `match` is a name unless the line is the head of such a statement.
bool PythonParser::match_or_expression() {
  const Snapshot here = snapshot();
  if (line()) return true;
  restore(here);
  return !lost_ && match_statement();
}

bool PythonParser::match_statement() {
  const Mark mark = begin();
  take();
  while (true) {
    if (at(Token::kStar)) {
      const Mark star = begin();
      take();
      if (!identifier() || !at(Token::kComma)) return false;
      close(star, Kind::kListSplat);
    } else if (!named_expression()) {
      return false;
    }
    set_field(Field::kSubject);
    if (!take(Token::kComma) || at(Token::kColon)) break;
  }
  if (!take(Token::kColon) || !at(Token::kNewline)) return false;
  // The block begins with its indentation, which is behind the colon or the comment there.
  if (!lexer_.extras.empty()) {
    place_extras(lexer_.extras.size());
    last_end_ = extra_end_;
  }
  const Mark block{count(), last_end_};
  const Indentation outer = block_;
  lexer_.next_line();
  block_ = lexer_.indentation;
  lexer_.block_columns = block_.columns;
  if (block_.columns <= outer.columns || block_.characters <= outer.characters) return false;
  do {
    if (!case_clause()) return false;
  } while (lexer_.indentation.columns == block_.columns &&
           lexer_.indentation.characters == block_.characters);
  if (!end_block(outer)) return false;
  close(block, Kind::kBlock, Field::kBody);
  close(mark, Kind::kMatch);
  return true;
}

bool PythonParser::case_clause() {
  const Level level(*this);
  if (!level.is_fine() || !at(Token::kName) || lexer_.word() != "case") return false;
  const Mark mark = begin();
  const std::uint32_t low_lines = lexer_.low_lines;
  take();
  while (true) {
    if (!case_pattern(Field::kNone)) return false;
    if (!take(Token::kComma) || at(Token::kColon) || at(Token::kIf)) break;
  }
  if (lexer_.low_lines != low_lines) return false;
  if (at(Token::kIf)) {
    const Mark guard = begin();
    take();
    if (!named_expression()) return false;
    close(guard, Kind::kIfClause);
  }
  if (!suite(Field::kConsequence)) return false;
  close(mark, Kind::kCase, Field::kAlternative);
  return true;
}

bool PythonParser::case_pattern(Field field) {
  const Level level(*this);
  if (!level.is_fine()) return false;
  const Mark mark = begin();
  if (at(Token::kStar)) {
    take();
    if (!wildcard() && !identifier()) return false;
    close(mark, Kind::kOther);
    close(mark, Kind::kOther, field);
    return true;
  }
  if (!simple_pattern(Field::kNone)) return false;
  if (at(Token::kEqual)) {  // a keyword of a class pattern
    if (count() != mark.index + 2 || records_.back().kind != Kind::kDottedName) return false;
    records_.pop_back();
    take();
    if (!simple_pattern(Field::kNone)) return false;
    close(mark, Kind::kOther);
  }
  close(mark, Kind::kOther, field);
  if (!at(Token::kAs)) return true;
  set_field(Field::kNone);
  take();
  if (!identifier()) return false;
  close(mark, Kind::kAsPattern);
  close(mark, Kind::kOther, field);
  return true;
}

// One pattern, or several between bars.
bool PythonParser::simple_pattern(Field field) {
  const Mark mark = begin();
  if (!single_pattern()) return false;
  if (at(Token::kBar)) {
    while (take(Token::kBar))
      if (!single_pattern()) return false;
    close(mark, Kind::kOther, field);
  } else if (count() > mark.index) {
    set_field(field);
  }
  return true;
}

// `_`, which is no node.
bool PythonParser::wildcard() {
  if (!at(Token::kName) || lexer_.word() != "_") return false;
  take();
  // The grammar might read a name there.
  if (at(Token::kDot) || at(Token::kOpenParen) || at(Token::kEqual)) lost_ = true;
  return true;
}

bool PythonParser::single_pattern() {
  switch (token()) {
    case Token::kName:
      return wildcard() || name_pattern();
    case Token::kString:
      return strings();
    case Token::kTrue:
    case Token::kFalse:
    case Token::kNone:
      return atom();
    case Token::kMinus:
    case Token::kInteger:
    case Token::kFloat:
      return number_pattern();
    case Token::kOpenBracket:
      return sequence_pattern(Token::kCloseBracket, Kind::kListPattern);
    case Token::kOpenParen:
      return sequence_pattern(Token::kCloseParen, Kind::kTuplePattern);
    case Token::kOpenBrace:
      return mapping_pattern();
    default:
      return false;
  }
}

// A name, or a class with patterns of its arguments.
bool PythonParser::name_pattern() {
  const Mark mark = begin();
  if (!dotted_name(Field::kNone)) return false;
  if (!take(Token::kOpenParen)) return true;
  while (!at(Token::kCloseParen)) {
    if (!case_pattern(Field::kNone)) return false;
    if (!take(Token::kComma)) break;
  }
  if (!take(Token::kCloseParen)) return false;
  close(mark, Kind::kOther);
  return true;
}

// `-1`, whose sign is no node, or `1 + 2j`.
bool PythonParser::number_pattern() {
  const Mark mark = begin();
  take(Token::kMinus);
  if ((!at(Token::kInteger) && !at(Token::kFloat)) || !atom()) return false;
  if (!take(Token::kPlus) && !take(Token::kMinus)) return true;
  if ((!at(Token::kInteger) && !at(Token::kFloat)) || !atom()) return false;
  close(mark, Kind::kOther);
  return true;
}

bool PythonParser::sequence_pattern(Token closing, Kind kind) {
  const Mark mark = begin();
  take();
  while (!at(closing)) {
    if (!case_pattern(Field::kNone)) return false;
    if (!take(Token::kComma)) break;
  }
  if (!take(closing)) return false;
  close(mark, kind);
  return true;
}

bool PythonParser::mapping_pattern() {
  const Mark mark = begin();
  take();
  while (!at(Token::kCloseBrace)) {
    const Mark item = begin();
    if (take(Token::kDoubleStar)) {
      if (!identifier()) return false;
      close(item, Kind::kOther);
    } else if (at(Token::kName) || at(Token::kOpenBracket) || at(Token::kOpenParen) ||
               at(Token::kOpenBrace) || at(Token::kBar)) {
      // Python takes only literals and dotted names for keys.
      if (!at(Token::kName) || !dotted_name(Field::kKey) || records_.back().subtree_end < 3 ||
          !take(Token::kColon) || !case_pattern(Field::kValue))
        return false;
    } else if (!single_pattern() || (set_field(Field::kKey), !take(Token::kColon)) ||
               !case_pattern(Field::kValue)) {
      return false;
    }
    if (!take(Token::kComma)) break;
  }
  if (!take(Token::kCloseBrace)) return false;
  close(mark, Kind::kOther);
  return true;
}

}  // namespace torchport::syntax
