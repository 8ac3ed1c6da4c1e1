// Blocks, logical lines and simple statements.
#include "source/syntax/python_parser.h"

namespace torchport::syntax {

bool PythonParser::statement() {
  switch (token()) {
    case Token::kIf:
    case Token::kFor:
    case Token::kWhile:
    case Token::kTry:
    case Token::kWith:
    case Token::kDef:
    case Token::kClass:
    case Token::kAsync:
    case Token::kAt:
      return compound_statement();
    case Token::kName:
      return lexer_.word() == "match" ? match_or_expression() : line();
    default:
      return line();
  }
}

// The simple statements of a line.
bool PythonParser::line() {
  do {
    if (!simple_statement()) return false;
    // The checks of lines take a continuation between statements for one.
    if (!lexer_.extras.empty() && lexer_.extras.front().kind == Kind::kContinuation) return false;
    if (!take(Token::kSemicolon)) break;
    if (!lexer_.extras.empty() && lexer_.extras.front().kind == Kind::kContinuation) return false;
  } while (!at(Token::kNewline) && !at(Token::kEnd));
  return newline();
}

// The end of a line is a token without width: it stands behind the line's comment.
bool PythonParser::newline() {
  if (!at(Token::kNewline) && !at(Token::kEnd)) return false;
  if (!lexer_.extras.empty()) {
    place_extras(lexer_.extras.size());
    last_end_ = extra_end_;
  }
  lexer_.next_line();
  return true;
}

// A colon, and the statements that it holds.
bool PythonParser::suite(Field field) {
  const Level level(*this);
  if (!level.is_fine() || !take(Token::kColon)) return false;
  if (!at(Token::kNewline)) {
    const Mark mark = begin();
    if (!line()) return false;
    close(mark, Kind::kBlock, field);
    return true;
  }
  lexer_.next_line();
  const Mark mark = begin();
  if (!body()) return false;
  close(mark, Kind::kBlock, field);
  return true;
}

// The statements of an indented block, and the comments that are indented like it.
bool PythonParser::body() {
  const Indentation outer = block_;
  block_ = lexer_.indentation;
  lexer_.block_columns = block_.columns;
  if (block_.columns <= outer.columns || block_.characters <= outer.characters) return false;
  do {
    if (!statement()) return false;
  } while (lexer_.indentation.columns == block_.columns &&
           lexer_.indentation.characters == block_.characters);
  return end_block(outer);
}

// The end of a block, at a line that is indented less. Comments before that line that are indented
// like the block belong to it.
bool PythonParser::end_block(const Indentation& outer) {
  if (lexer_.indentation.columns >= block_.columns) return false;
  std::size_t comments = 0;
  while (comments < lexer_.extras.size() && lexer_.extras[comments].columns >= block_.columns)
    ++comments;
  if (comments > 0) {
    place_extras(comments);
    last_end_ = extra_end_;
  }
  block_ = outer;
  lexer_.block_columns = outer.columns;
  return true;
}

bool PythonParser::simple_statement() {
  switch (token()) {
    case Token::kPass:
      leaf(Kind::kPass);
      return true;
    case Token::kBreak:
      leaf(Kind::kBreak);
      return true;
    case Token::kContinue:
      leaf(Kind::kContinue);
      return true;
    case Token::kReturn: {
      const Mark mark = begin();
      take();
      if (!ends_statement() && !expression_list()) return false;
      close(mark, Kind::kReturn);
      return true;
    }
    case Token::kRaise:
      return raise();
    case Token::kAssert:
      return assertion();
    case Token::kDel:
      return deletion();
    case Token::kGlobal:
      return scope_statement(Kind::kGlobal);
    case Token::kNonlocal:
      return scope_statement(Kind::kNonlocal);
    case Token::kImport:
      return import();
    case Token::kFrom:
      return import_from();
    default:
      return expression_statement();
  }
}

bool PythonParser::raise() {
  const Mark mark = begin();
  take();
  if (!ends_statement()) {
    if (!expression()) return false;
    if (take(Token::kFrom)) {
      if (!expression()) return false;
      set_field(Field::kCause);
    }
  }
  close(mark, Kind::kRaise);
  return true;
}

bool PythonParser::assertion() {
  const Mark mark = begin();
  take();
  if (!expression()) return false;
  if (take(Token::kComma) && !expression()) return false;
  close(mark, Kind::kAssert);
  return true;
}

bool PythonParser::deletion() {
  const Mark mark = begin();
  take();
  if (at(Token::kStar) || !expression_list()) return false;
  close(mark, Kind::kDelete);
  return true;
}

bool PythonParser::scope_statement(Kind kind) {
  const Mark mark = begin();
  take();
  do {
    if (!identifier()) return false;
  } while (take(Token::kComma));
  close(mark, kind);
  return true;
}

// The token after this one.
Token PythonParser::next_token() {
  const Snapshot here = snapshot();
  lexer_.next();
  const Token next = token();
  restore(here);
  return next;
}

// Whether a line may begin with a word that begins a statement in some release of Python. What the
// grammar may take for `print a` or `exec a` is left to it.
bool PythonParser::soft_keyword(std::string_view word) {
  if (word != "print" && word != "exec" && word != "type") return true;
  switch (next_token()) {
    case Token::kOpenParen:
    case Token::kDot:
    case Token::kComma:
    case Token::kEqual:
    case Token::kColon:
    case Token::kNewline:
    case Token::kEnd:
    case Token::kSemicolon:
      return true;
    case Token::kName:
    case Token::kOpenBracket:
      return word == "type";
    default:
      return false;
  }
}

// `type X = int`. The grammar also takes `type(a).b = c` for one.
bool PythonParser::type_alias() {
  const Token next = next_token();
  if (next != Token::kName && next != Token::kOpenParen && next != Token::kOpenBracket)
    return false;
  const Snapshot here = snapshot();
  const Mark mark = begin();
  take();
  if (type()) {
    set_field(Field::kLeft);
    if (take(Token::kEqual) && type()) {
      set_field(Field::kRight);
      if (ends_statement()) {
        close(mark, Kind::kOther);
        return true;
      }
    }
  }
  restore(here);
  return false;
}

bool PythonParser::expression_statement() {
  const Mark mark = begin();
  if (at(Token::kName) && (lexer_.word().size() == 4 || lexer_.word().size() == 5)) {
    const std::string_view word = lexer_.word();
    if (!soft_keyword(word)) return false;
    if (word == "type" && type_alias()) return true;
    if (word == "print" || word == "type" || word == "match") soft_call_ = mark.start;
  }
  if (at(Token::kYield)) {
    if (!yield()) return false;
    close(mark, Kind::kExpressionStatement);
    return true;
  }
  bool has_comma = false;
  if (!expressions(has_comma)) return false;
  switch (token()) {
    case Token::kEqual:
      if (!assignment(mark, has_comma)) return false;
      break;
    case Token::kColon:
      if (has_comma || !annotation(mark)) return false;
      break;
    case Token::kAugmented:
      if (has_comma || !is_single_target()) return false;
      set_field(Field::kLeft);
      leaf(Kind::kOther, Field::kOperator);
      if (!right_side()) return false;
      close(mark, Kind::kAugmentedAssignment);
      break;
    default:
      break;
  }
  close(mark, Kind::kExpressionStatement);
  return true;
}

// Whether the last node is a target that is no list.
bool PythonParser::is_single_target() const {
  const Record& last = records_.back();
  return last.kind == Kind::kIdentifier ||
         ((last.kind == Kind::kAttribute || last.kind == Kind::kSubscript) &&
          lexer_.text()[last.start] != '*');
}

bool PythonParser::right_side() {
  if (at(Token::kYield) ? !yield() : !expression_list()) return false;
  set_field(Field::kRight);
  return true;
}

bool PythonParser::annotation(Mark mark) {
  const Kind kind = records_.back().kind;
  if (!is_single_target() && (kind != Kind::kParenthesized || !to_pattern(count() - 1)))
    return false;
  set_field(Field::kLeft);
  take();
  if (!type()) return false;
  set_field(Field::kFieldType);
  if (take(Token::kEqual) && !right_side()) return false;
  close(mark, Kind::kAssignment);
  return true;
}

// The rest of `a = b = c`, whose first target was read. Each assignment holds the next one.
bool PythonParser::assignment(Mark mark, bool has_comma) {
  std::vector<Mark> targets;
  while (at(Token::kEqual)) {
    if (!to_patterns(mark.index)) return false;
    if (has_comma) close(mark, Kind::kPatternList);
    set_field(Field::kLeft);
    targets.push_back(mark);
    take();
    mark = begin();
    has_comma = false;
    if (at(Token::kYield)) {
      if (!yield() || at(Token::kEqual)) return false;
    } else if (!expressions(has_comma)) {
      return false;
    }
  }
  if (has_comma) close(mark, Kind::kExpressionList);
  while (!targets.empty()) {
    set_field(Field::kRight);
    close(targets.back(), Kind::kAssignment);
    targets.pop_back();
  }
  return true;
}

// Makes targets of the nodes from a record on.
bool PythonParser::to_patterns(std::uint32_t first) {
  for (std::uint32_t end = count(); end > first; end -= records_[end - 1].subtree_end)
    if (!to_pattern(end - 1)) return false;
  return true;
}

bool PythonParser::to_pattern(std::uint32_t index) {
  Record& record = records_[index];
  const std::uint32_t first = index + 1 - record.subtree_end;
  switch (record.kind) {
    case Kind::kIdentifier:
      return true;
    case Kind::kAttribute:
    case Kind::kSubscript:
      return lexer_.text()[record.start] != '*';
    case Kind::kComment:
    case Kind::kContinuation:
      return record.subtree_end == 1;
    case Kind::kListSplat:
      record.kind = Kind::kListSplatPattern;
      break;
    case Kind::kTuple:
    case Kind::kParenthesized:
      record.kind = Kind::kTuplePattern;
      break;
    case Kind::kList:
      record.kind = Kind::kListPattern;
      break;
    default:
      return false;
  }
  const bool is_splat = record.kind == Kind::kListSplatPattern;
  for (std::uint32_t end = index; end > first; end -= records_[end - 1].subtree_end) {
    const Kind kind = records_[end - 1].kind;
    if (is_splat && kind != Kind::kIdentifier && kind != Kind::kAttribute &&
        kind != Kind::kSubscript)
      return false;
    if (!to_pattern(end - 1)) return false;
  }
  return true;
}

}  // namespace torchport::syntax
