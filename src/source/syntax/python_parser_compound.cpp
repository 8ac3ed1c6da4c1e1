// Compound statements, but for `match`.
#include "source/syntax/python_parser.h"

namespace torchport::syntax {

bool PythonParser::compound_statement() {
  const Mark mark = begin();
  switch (token()) {
    case Token::kIf:
      return if_statement();
    case Token::kWhile:
      return while_statement();
    case Token::kTry:
      return try_statement();
    case Token::kAt:
      return decorated();
    case Token::kClass:
      return class_definition();
    default:
      break;
  }
  take(Token::kAsync);
  switch (token()) {
    case Token::kFor:
      return for_statement(mark);
    case Token::kWith:
      return with_statement(mark);
    case Token::kDef:
      return function(mark);
    default:
      return false;
  }
}

bool PythonParser::if_statement() {
  const Mark mark = begin();
  take();
  if (!named_expression()) return false;
  set_field(Field::kCondition);
  if (!suite(Field::kConsequence)) return false;
  while (clause_follows(Token::kElif)) {
    const Mark clause = begin();
    take();
    if (!named_expression()) return false;
    set_field(Field::kCondition);
    if (!suite(Field::kConsequence)) return false;
    close(clause, Kind::kElif, Field::kAlternative);
  }
  if (clause_follows(Token::kElse) && !else_clause(Field::kAlternative)) return false;
  close(mark, Kind::kIf);
  return true;
}

bool PythonParser::else_clause(Field field) {
  const Mark mark = begin();
  take();
  if (!suite(Field::kBody)) return false;
  close(mark, Kind::kElse, field);
  return true;
}

bool PythonParser::for_statement(Mark mark) {
  take();
  if (!targets() || !take(Token::kIn) || !expression_list()) return false;
  set_field(Field::kRight);
  if (!suite(Field::kBody)) return false;
  if (clause_follows(Token::kElse) && !else_clause(Field::kAlternative)) return false;
  close(mark, Kind::kFor);
  return true;
}

bool PythonParser::while_statement() {
  const Mark mark = begin();
  take();
  if (!named_expression()) return false;
  set_field(Field::kCondition);
  if (!suite(Field::kBody)) return false;
  if (clause_follows(Token::kElse) && !else_clause(Field::kAlternative)) return false;
  close(mark, Kind::kWhile);
  return true;
}

bool PythonParser::try_statement() {
  const Mark mark = begin();
  take();
  if (!suite(Field::kBody)) return false;
  bool is_handled = false;
  while (clause_follows(Token::kExcept)) {
    if (!except_clause()) return false;
    is_handled = true;
  }
  if (is_handled && clause_follows(Token::kElse) && !else_clause(Field::kNone)) return false;
  if (clause_follows(Token::kFinally)) {
    const Mark clause = begin();
    take();
    if (!suite(Field::kNone)) return false;
    close(clause, Kind::kFinally);
    is_handled = true;
  }
  if (!is_handled) return false;
  close(mark, Kind::kTry);
  return true;
}

bool PythonParser::except_clause() {
  const Mark mark = begin();
  take();
  const bool is_group = take(Token::kStar);
  if (is_group || !at(Token::kColon)) {
    const Mark value = begin();
    if (!expression()) return false;
    if (at(Token::kAs) && !as_pattern(value)) return false;
    set_field(Field::kValue);
  }
  if (!suite(Field::kNone)) return false;
  close(mark, Kind::kExcept);
  return true;
}

// `as target` after an expression, which was read from `mark` on.
bool PythonParser::as_pattern(Mark mark) {
  // The grammar gives `as` to the last operand of these.
  for (std::uint32_t last = count(); last > mark.index; --last) {
    const Record& record = records_[last - 1];
    if (record.end != last_end_) break;
    if (record.kind == Kind::kLambda || record.kind == Kind::kConditional ||
        record.kind == Kind::kNamedExpression)
      return false;
  }
  take();
  const Mark target = begin();
  if (!primary()) return false;
  close(target, Kind::kAsPatternTarget, Field::kAlias);
  close(mark, Kind::kAsPattern);
  return true;
}

bool PythonParser::with_statement(Mark mark) {
  take();
  const Mark clause = begin();
  bool is_read = false;
  if (at(Token::kOpenParen)) {
    const Snapshot here = snapshot();
    is_read = with_items_in_brackets() && at(Token::kColon);
    if (!is_read) restore(here);
  }
  if (!is_read && !with_items()) return false;
  close(clause, Kind::kWithClause);
  if (!suite(Field::kBody)) return false;
  close(mark, Kind::kWith);
  return true;
}

// `(a as b, c)` with at least two items. One alone is an expression in brackets.
bool PythonParser::with_items_in_brackets() {
  take();
  int number = 0;
  while (!at(Token::kCloseParen)) {
    const Mark item = begin();
    if (!expression()) return false;
    if (at(Token::kAs) && !as_pattern(item)) return false;
    set_field(Field::kValue);
    close(item, Kind::kWithItem);
    ++number;
    if (!take(Token::kComma)) break;
  }
  return number > 1 && take(Token::kCloseParen);
}

bool PythonParser::with_items() {
  const Mark first = begin();
  if (at(Token::kOpenParen)) with_bracket_ = lexer_.start;
  with_as_ = false;
  int number = 0;
  do {
    const Mark item = begin();
    if (!expression()) return false;
    with_bracket_ = kNowhere;
    const Record& value = records_.back();
    const bool is_bracket = value.start == first.start &&
                            (value.kind == Kind::kParenthesized || value.kind == Kind::kTuple);
    // `as` in brackets is only for a single item.
    if (with_as_ && !(is_bracket && at(Token::kColon))) return false;
    // with_items_in_brackets() did not understand it, but the grammar may.
    if (number == 0 && value.kind == Kind::kTuple && at(Token::kColon) && !is_lonely(first))
      return false;
    if (at(Token::kAs) && !as_pattern(item)) return false;
    set_field(Field::kValue);
    close(item, Kind::kWithItem);
    ++number;
  } while (take(Token::kComma));
  return true;
}

// Whether the tuple that was read last has at most one item.
bool PythonParser::is_lonely(Mark mark) const {
  int items = 0;
  for (std::uint32_t end = count() - 1; end > mark.index; end -= records_[end - 1].subtree_end) {
    const Kind kind = records_[end - 1].kind;
    if (kind == Kind::kListSplat) return false;
    if (kind != Kind::kComment && kind != Kind::kContinuation) ++items;
  }
  return items <= 1;
}

bool PythonParser::function(Mark mark) {
  take();
  if (!identifier(Field::kName)) return false;
  if (at(Token::kOpenBracket) && !type_parameters()) return false;
  const Mark brackets = begin();
  if (!take(Token::kOpenParen)) return false;
  if (!at(Token::kCloseParen) && !parameters(true)) return false;
  if (!take(Token::kCloseParen)) return false;
  close(brackets, Kind::kParameters, Field::kParametersPart);
  if (take(Token::kArrow)) {
    if (!type()) return false;
    set_field(Field::kReturnType);
  }
  if (!suite(Field::kBody)) return false;
  close(mark, Kind::kFunction);
  return true;
}

bool PythonParser::class_definition() {
  const Mark mark = begin();
  take();
  if (!identifier(Field::kName)) return false;
  if (at(Token::kOpenBracket) && !type_parameters()) return false;
  if (at(Token::kOpenParen)) {
    if (!arguments() || records_.back().kind != Kind::kArgumentList) return false;
    set_field(Field::kSuperclasses);
  }
  if (!suite(Field::kBody)) return false;
  close(mark, Kind::kClass);
  return true;
}

bool PythonParser::decorated() {
  const Mark mark = begin();
  while (at(Token::kAt)) {
    const Mark decorator = begin();
    take();
    if (!named_expression() || !newline()) return false;
    close(decorator, Kind::kDecorator);
    if (lexer_.indentation.columns != block_.columns ||
        lexer_.indentation.characters != block_.characters)
      return false;
    // The grammar's scanner ends the block at such a comment.
    for (const Extra& comment : lexer_.extras)
      if (comment.columns < block_.columns) return false;
  }
  if (at(Token::kClass)) {
    if (!class_definition()) return false;
  } else {
    const Mark definition = begin();
    take(Token::kAsync);
    if (!at(Token::kDef) || !function(definition)) return false;
  }
  set_field(Field::kDefinition);
  close(mark, Kind::kDecorated);
  return true;
}

// Parameters of a function, which may have types, or of a lambda.
bool PythonParser::parameters(bool typed) {
  do {
    if (at(typed ? Token::kCloseParen : Token::kColon)) break;
    if (!parameter(typed)) return false;
  } while (take(Token::kComma));
  return true;
}

bool PythonParser::parameter(bool typed) {
  const Mark mark = begin();
  if (at(Token::kSlash)) {
    leaf(Kind::kOther);
    return true;
  }
  const bool is_star = at(Token::kStar);
  if (is_star || at(Token::kDoubleStar)) {
    const std::uint32_t end = lexer_.end;
    take();
    if (is_star && at(Token::kComma)) {
      records_.push_back({Kind::kOther, Field::kNone, mark.start, end, 0, 1});
      return true;
    }
    if (!identifier()) return false;
    close(mark, is_star ? Kind::kListSplatPattern : Kind::kDictionarySplatPattern);
    if (!typed || !take(Token::kColon)) return true;
    if (!type()) return false;
    set_field(Field::kFieldType);
    close(mark, Kind::kTypedParameter);
    return true;
  }
  if (!identifier()) return false;
  const bool has_type = typed && at(Token::kColon);
  const std::uint32_t name = count() - 1;
  if (has_type) {
    take();
    if (!type()) return false;
    set_field(Field::kFieldType);
  }
  if (take(Token::kEqual)) {
    records_[name].field = Field::kName;
    if (!expression()) return false;
    set_field(Field::kValue);
    close(mark, has_type ? Kind::kTypedDefaultParameter : Kind::kDefaultParameter);
  } else if (has_type) {
    close(mark, Kind::kTypedParameter);
  }
  return true;
}

// `[T: int, *Ts, **P]`
bool PythonParser::type_parameters() {
  const Mark mark = begin();
  take();
  do {
    if (at(Token::kCloseBracket)) break;
    const Mark item = begin();
    if (!type()) return false;
    if (take(Token::kColon)) {
      if (!type()) return false;
      close(item, Kind::kOther);
      close(item, Kind::kType);
    }
  } while (take(Token::kComma));
  if (records_.back().kind != Kind::kType || !take(Token::kCloseBracket)) return false;
  close(mark, Kind::kOther);
  return true;
}

// What stands after a colon or an arrow. The grammar reads `list[int]` as a generic type and not as
// a subscript, but only where the type begins.
bool PythonParser::type() {
  const Level level(*this);
  if (!level.is_fine()) return false;
  const Mark mark = begin();
  if (!type_operand()) return false;
  close(mark, Kind::kType);
  // After an expression, neither can follow.
  while (at(Token::kDot) || at(Token::kBar)) {
    if (take(Token::kDot)) {
      if (!identifier()) return false;
    } else {
      take();
      const Mark right = begin();
      if (!type_operand()) return false;
      close(right, Kind::kType);
    }
    close(mark, Kind::kOther);
    close(mark, Kind::kType);
  }
  return true;
}

bool PythonParser::type_operand() {
  const Mark mark = begin();
  if (at(Token::kStar) || at(Token::kDoubleStar)) {
    take();
    if (!identifier() ||
        (!at(Token::kComma) && !at(Token::kCloseBracket) && !at(Token::kCloseParen)))
      return false;
    close(mark, Kind::kOther);
    return true;
  }
  if (at(Token::kName) && lexer_.bracket_follows()) {
    const std::string_view word = lexer_.word();
    if (word != "print" && word != "exec" && word != "match") {
      leaf(Kind::kIdentifier);
      if (!type_parameters()) return false;
      close(mark, Kind::kOther);
      return true;
    }
  }
  return expression();
}

}  // namespace torchport::syntax
