// `import` and `from ... import`.
#include "source/syntax/python_parser.h"

namespace torchport::syntax {

bool PythonParser::import() {
  const Mark mark = begin();
  take();
  do {
    const Mark name = begin();
    if (!dotted_name(Field::kName)) return false;
    if (!take(Token::kAs)) continue;
    if (!identifier(Field::kAlias)) return false;
    close(name, Kind::kAliasedImport, Field::kName);
  } while (take(Token::kComma));
  close(mark, Kind::kImport);
  return true;
}

bool PythonParser::import_from() {
  const Mark mark = begin();
  take();
  const Mark module = begin();
  Kind kind = Kind::kImportFrom;
  if (at(Token::kDot) || at(Token::kEllipsis)) {
    while (at(Token::kDot) || at(Token::kEllipsis)) take();
    close(module, Kind::kImportPrefix);
    if (at(Token::kName) && !dotted_name(Field::kNone)) return false;
    close(module, Kind::kRelativeImport, Field::kModuleName);
  } else if (at(Token::kName) && lexer_.word() == "__future__") {
    kind = Kind::kFutureImport;
    take();
  } else if (!dotted_name(Field::kModuleName)) {
    return false;
  }
  if (!take(Token::kImport)) return false;
  if (at(Token::kStar) && kind == Kind::kImportFrom) {
    leaf(Kind::kWildcardImport);
  } else if (!import_list()) {
    return false;
  }
  close(mark, kind);
  return true;
}

bool PythonParser::import_list() {
  const std::uint32_t low_lines = lexer_.low_lines;
  const bool in_brackets = take(Token::kOpenParen);
  if (lexer_.low_lines != low_lines) return false;
  while (true) {
    const Mark name = begin();
    if (!at(Token::kName)) return false;
    leaf(Kind::kIdentifier);
    close(name, Kind::kDottedName, Field::kName);
    if (take(Token::kAs)) {
      if (!identifier(Field::kAlias)) return false;
      close(name, Kind::kAliasedImport, Field::kName);
    }
    if (!take(Token::kComma)) break;
    if (in_brackets && at(Token::kCloseParen)) break;
  }
  return !in_brackets || take(Token::kCloseParen);
}

bool PythonParser::dotted_name(Field field) {
  const Mark mark = begin();
  do {
    if (!identifier()) return false;
  } while (take(Token::kDot));
  close(mark, Kind::kDottedName, field);
  return true;
}

}  // namespace torchport::syntax
